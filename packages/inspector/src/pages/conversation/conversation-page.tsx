import type { Session } from "@reins/api";
import { useMutation } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { useEffect } from "react";
import type { Conversation } from "../../acp/conversation/conversation.ts";
import { acpClient } from "../../acp/open-client.ts";
import type { SessionView } from "../../acp/session-view.ts";
import { useSession } from "../../acp/use-session.ts";
import { usePendingOf } from "../../app/approvals/use-pending-approvals.ts";
import { Badge } from "../../design/badge.tsx";
import { about, dollars } from "../../design/number.ts";
import { Empty, Failure, Waiting } from "../../design/states.tsx";
import { LevelBadge } from "../../design/verdict.tsx";
import { visible } from "../../design/visible.ts";
import { LateNotice } from "../approvals/late-notice.tsx";
import { SessionActions } from "../sessions/session-actions.tsx";
import { StateBadge } from "../sessions/state-badge.tsx";
import { titleOf } from "../sessions/title.ts";
import { useSessionRecord } from "../sessions/use-sessions.ts";
import { Composer } from "./composer/composer.tsx";
import { WaitingList } from "./composer/waiting-list.tsx";
import { LineBar } from "./line-bar.tsx";
import type { Origin } from "./origins/origins.ts";
import { useOrigins } from "./origins/use-origins.ts";
import { PlanPanel } from "./plan-panel.tsx";
import { Questions } from "./questions/questions.tsx";
import { SettingsBar } from "./settings-bar.tsx";
import { Timeline } from "./timeline/timeline.tsx";

const LONGEST_TITLE = 80;
const NONE: readonly Origin[] = [];

/** A conversation with an agent, followed as it happens. */
export function ConversationPage() {
  const { id } = useParams({ from: "/sessions/$id" });
  const record = useSessionRecord(id);
  if (record.error && !record.data)
    return (
      <div className="p-4">
        <Failure error={record.error} onRetry={() => void record.refetch()} />
      </div>
    );
  if (!record.data) return <Waiting what="Looking for the session" />;
  return <Live key={id} session={record.data} refetch={record.refetch} />;
}

function Live({ session, refetch }: { session: Session; refetch: () => unknown }) {
  const { id } = session;
  const isOver = session.ended !== undefined;
  const view = useSession(id, isOver);
  const { conversation, questions, waiting, running, turn = session.state, changes, phase } = view;
  const origins = useOrigins(session);
  const isSilent = conversation.items.length === 0 && !origins.data?.length;
  const isRunning = running.length > 0 || turn === "running";
  const stop = useMutation({ mutationFn: () => acpClient.stop(id) });
  useEffect(() => {
    // One that cannot be followed may have ended.
    if (changes > 0 || phase === "failed") refetch();
  }, [changes, phase, refetch]);
  const send = (text: string) => void acpClient.prompt(id, text).then(refetch);
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <Head session={session} view={view} isRunning={isRunning} />
      <LineBar />
      {origins.error && (
        <div className="border-b border-line px-4 py-2">
          <Failure error={origins.error} onRetry={() => void origins.refetch()} />
        </div>
      )}
      <PlanPanel plan={conversation.plan} />
      {phase === "failed" ? (
        <div className="p-4">
          <Failure error={view.error} onRetry={() => acpClient.follow(id, isOver)} />
        </div>
      ) : isSilent && (phase !== "live" || origins.isLoading) ? (
        <div className="flex-1">
          <Waiting what="Fetching what was said" />
        </div>
      ) : isSilent && waiting.length === 0 && !isOver ? (
        <div className="flex flex-1 flex-col justify-center">
          <Empty title={`Say something to ${session.agent}`}>
            Every action it wants to take is decided by the constitution, and its verdict stands beside it
            here. With the demo model, try “what is in this folder”, “read .env” or “run `make`”.
          </Empty>
        </div>
      ) : (
        <Timeline items={conversation.items} origins={origins.data ?? NONE} isGrowing={isRunning} />
      )}
      <LateNotice />
      <Questions questions={questions} />
      {isOver ? (
        <Ended session={session} />
      ) : (
        <footer className="border-t border-line bg-surface px-4 py-2.5">
          <WaitingList session={id} waiting={waiting} />
          {stop.error && isRunning && <Failure error={stop.error} />}
          <Composer
            commands={conversation.commands}
            isRunning={isRunning}
            onSend={send}
            onStop={() => stop.mutate()}
          />
        </footer>
      )}
    </div>
  );
}

function Head({ session, view, isRunning }: { session: Session; view: SessionView; isRunning: boolean }) {
  const { conversation } = view;
  const title = titleOf({ id: session.id, title: session.title ?? firstWords(conversation) });
  useTitle(title);
  const { usage } = conversation;
  const cost = usage?.cost?.currency === "USD" ? usage.cost.amount : session.cost_usd;
  const shown: Session = session.ended ? session : { ...session, state: isRunning ? "running" : "idle" };
  return (
    <header className="flex flex-wrap items-center gap-x-3 gap-y-1.5 border-b border-line px-4 py-2">
      <div className="min-w-0 flex-1 basis-56">
        <h1 className="truncate text-base font-semibold">{title}</h1>
        <p className="flex flex-wrap items-center gap-x-2 gap-y-0.5 text-2xs text-ink-faint">
          <span>{visible(session.agent)}</span>
          <span className="truncate font-mono" title={session.cwd}>
            {visible(session.cwd)}
          </span>
          {usage && (
            <span className="tabular-nums" title="tokens of the model's window that are used">
              {about(usage.used)} of {about(usage.size)} tokens
            </span>
          )}
          {cost !== undefined && <span className="tabular-nums">{dollars(cost)}</span>}
        </p>
      </div>
      <StateBadge session={shown} pending={usePendingOf(session.id)} />
      {session.trust === "unknown" && <Badge tone="warn">unknown agent</Badge>}
      {session.enforcement && <LevelBadge level={session.enforcement} />}
      <SettingsBar session={session.id} settings={conversation.settings} />
      <SessionActions session={session} canStop={false} />
    </header>
  );
}

/** What the person said first, for a session that has no title yet. */
function firstWords({ items }: Conversation): string | undefined {
  const first = items.find((item) => item.kind === "message" && item.from === "user");
  return first?.kind === "message" ? first.text.slice(0, LONGEST_TITLE) : undefined;
}

/** What is left to do with a session that has ended. */
function Ended({ session }: { session: Session }) {
  return (
    <footer className="border-t border-line bg-surface px-4 py-3 text-center text-sm text-ink-soft">
      This session has ended: {session.ended?.message ?? session.ended?.reason}. What it did stays in the{" "}
      <Link to="/ledger" className="text-accent underline">
        ledger
      </Link>
      .
    </footer>
  );
}

function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · Reins`;
  }, [title]);
}
