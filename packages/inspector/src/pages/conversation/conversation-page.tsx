import type { Session } from "@reins/api";
import { useMutation } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useEffect } from "react";
import { acpClient, useConnectionState, useSession } from "../../acp/acp-client.ts";
import type { SessionView } from "../../acp/attached-session.ts";
import {
  type Conversation,
  type PlanStep,
  type SessionWorker,
  type Setting,
  type WorkerNode,
  workerTree,
} from "../../acp/conversation/conversation.ts";
import { usePendingOf } from "../../app/approvals.ts";
import { Badge, LevelBadge, type Tone } from "../../design/badge.tsx";
import { Button } from "../../design/button.tsx";
import { Choice } from "../../design/form.tsx";
import { about, dollars, duration, visible, words } from "../../design/format.ts";
import { classNames, useTitle } from "../../design/layout.tsx";
import { SessionLink, TextLink } from "../../design/markdown.tsx";
import { useNow } from "../../design/moment.tsx";
import { Empty, Failure, Waiting } from "../../design/states.tsx";
import { LateNotice } from "../approvals/answer-bar.tsx";
import { SessionReports } from "../runs/agent-reports.tsx";
import { SessionGraphs } from "../runs/runs-panel.tsx";
import { SessionActions, StateBadge } from "../sessions/session-actions.tsx";
import { sessionTitle, useSessionRecord } from "../sessions/sessions.ts";
import { Composer, PromptQueue } from "./composer.tsx";
import { Questions } from "./questions.tsx";
import { type Origin, useOrigins } from "./rows.ts";
import { Timeline } from "./timeline.tsx";

const TONES: Readonly<Record<string, Tone>> = {
  running: "accent",
  completed: "good",
  failed: "bad",
  awaiting_input: "warn",
};

/** The workers of a session as a tree, live. */
function WorkersPanel({ workers }: { workers: readonly SessionWorker[] }) {
  if (workers.length === 0) return null;
  const running = workers.filter(({ isOver }) => !isOver).length;
  const failed = workers.filter(({ status }) => status === "failed").length;
  return (
    <details className="border-b border-line bg-surface px-4 py-1.5 text-sm" open={running > 0}>
      <summary className="flex cursor-pointer items-center gap-3">
        <span className="font-medium">Workers</span>
        <span className="text-ink-soft tabular-nums">
          {running > 0 ? `${running} of ${workers.length} running` : `${workers.length} ended`}
          {failed > 0 && `, ${failed} failed`}
        </span>
      </summary>
      <div className="max-h-[40vh] overflow-y-auto">
        <WorkerList nodes={workerTree(workers)} label="Workers" />
      </div>
    </details>
  );
}

function WorkerList({ nodes, label }: { nodes: readonly WorkerNode[]; label: string }) {
  return (
    <ul aria-label={label} className="flex flex-col gap-1.5 pt-1.5">
      {nodes.map(({ worker, children }) => (
        <li key={worker.id}>
          <WorkerLine worker={worker} />
          {children.length > 0 && (
            <div className="ml-2 border-l border-line pl-3">
              <WorkerList nodes={children} label={`Workers of ${visible(worker.name)}`} />
            </div>
          )}
        </li>
      ))}
    </ul>
  );
}

function WorkerLine({ worker }: { worker: SessionWorker }) {
  const { name, task, summary, session, startedAt, finishedAt } = worker;
  // Progress is a step of a worker that runs, not a state that a person waits for.
  const status = worker.status === "progressed" ? "running" : worker.status;
  const took = Date.parse(finishedAt ?? "") - Date.parse(startedAt ?? "");
  return (
    <div className="flex min-w-0 flex-wrap items-baseline gap-x-2">
      <Badge tone={TONES[status] ?? "neutral"}>{words(status)}</Badge>
      <span className="font-medium">{visible(name)}</span>
      <span className="min-w-0 max-w-xl truncate text-ink-soft" title={visible(task)}>
        {visible(task)}
      </span>
      {session !== undefined && <SessionLink id={session} />}
      {took >= 0 && <span className="text-2xs text-ink-faint tabular-nums">{duration(took)}</span>}
      {summary !== undefined && (
        <span className="line-clamp-3 w-full text-ink-faint wrap-anywhere" title={visible(summary)}>
          {visible(summary)}
        </span>
      )}
    </div>
  );
}

const LONGEST_TITLE = 80;
const NONE: readonly Origin[] = [];

/** A conversation with an agent, live. */
export function ConversationPage() {
  const { id } = useParams({ from: "/sessions/$id" });
  const record = useSessionRecord(id);
  if (record.error && !record.data)
    return (
      <div className="p-4">
        <Failure error={record.error} onRetry={() => void record.refetch()} />
      </div>
    );
  if (!record.data) return <Waiting what="Loading the session" />;
  return <Live key={id} session={record.data} refetch={record.refetch} />;
}

function Live({ session, refetch }: { session: Session; refetch: () => unknown }) {
  const { id } = session;
  const isOver = session.ended !== undefined;
  const view = useSession(id, isOver);
  const { conversation, questions, waiting, running, turn = session.state, changes, phase } = view;
  const origins = useOrigins(session);
  const stage = stageOf(view, { isOver, origins: origins.data?.length ?? 0, isLoading: origins.isLoading });
  const isRunning = running.length > 0 || turn === "running";
  const stop = useMutation({ mutationFn: () => acpClient.stop(id) });
  useEffect(() => {
    // A session that cannot be loaded may have ended.
    if (changes > 0 || phase === "failed") refetch();
  }, [changes, phase, refetch]);
  const send = (text: string) => void acpClient.prompt(id, text).then(refetch);
  return (
    <div className="flex min-h-0 flex-1 flex-col">
      <Head session={session} view={view} isRunning={isRunning} />
      <ConnectionBar />
      {origins.error && (
        <div className="border-b border-line px-4 py-2">
          <Failure error={origins.error} onRetry={() => void origins.refetch()} />
        </div>
      )}
      <PlanPanel plan={conversation.plan} />
      <WorkersPanel workers={conversation.workers} />
      <SessionGraphs session={id} />
      <SessionReports session={id} />
      {stage === "failed" ? (
        <div className="p-4">
          <Failure error={view.error} onRetry={() => acpClient.attach(id, isOver)} />
        </div>
      ) : stage === "loading" ? (
        <div className="flex-1">
          <Waiting what="Loading the conversation" />
        </div>
      ) : stage === "empty" ? (
        <div className="flex flex-1 flex-col justify-center">
          <Empty title={`Send a message to ${session.agent}`}>
            The constitution decides every action, and the verdict is shown beside it. With the demo model,
            try “what is in this folder”, “read .env” or “run `make`”.
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
          <PromptQueue session={id} waiting={waiting} />
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

/** What the middle of the page shows. A conversation without any item is loading, or waits for a first message. */
export function stageOf(
  { conversation, waiting, phase }: Pick<SessionView, "conversation" | "waiting" | "phase">,
  more: { readonly isOver: boolean; readonly origins: number; readonly isLoading: boolean },
): "failed" | "loading" | "empty" | "timeline" {
  if (phase === "failed") return "failed";
  if (conversation.items.length > 0 || more.origins > 0) return "timeline";
  if (phase !== "live" || more.isLoading) return "loading";
  return waiting.length === 0 && !more.isOver ? "empty" : "timeline";
}

function Head({ session, view, isRunning }: { session: Session; view: SessionView; isRunning: boolean }) {
  const { conversation } = view;
  const title = sessionTitle({ id: session.id, title: session.title ?? firstWords(conversation) });
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
            <span className="tabular-nums" title="tokens used of the model's context window">
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

/** The first prompt, as the title of a session without one. */
export function firstWords({ items }: Conversation): string | undefined {
  const first = items.find((item) => item.kind === "message" && item.from === "user");
  return first?.kind === "message" ? first.text.slice(0, LONGEST_TITLE) : undefined;
}

function Ended({ session }: { session: Session }) {
  return (
    <footer className="border-t border-line bg-surface px-4 py-3 text-center text-sm text-ink-soft">
      This session has ended: {session.ended?.message ?? session.ended?.reason}. What it did stays in the{" "}
      <TextLink to="/ledger">ledger</TextLink>.
    </footer>
  );
}

function ConnectionBar() {
  const line = useConnectionState();
  const now = useNow(1_000);
  if (line.state !== "lost") return null;
  return (
    <div
      role="status"
      className="flex items-center gap-3 border-b border-warn bg-warn-wash px-4 py-1.5 text-sm text-warn"
    >
      <span className="flex-1">
        Reins is unreachable. The conversation is kept and continues after reconnecting (
        {retryText(line.retryAt, now)}).
      </span>
      <Button onClick={() => acpClient.retry()}>Retry now</Button>
    </div>
  );
}

/** When the next retry is; both times in milliseconds. */
export function retryText(retryAt: number, now: number): string {
  const seconds = Math.ceil((retryAt - now) / 1_000);
  return seconds > 0 ? `next retry in ${seconds} s` : "retrying now";
}

const MARKS: Readonly<Record<string, string>> = { completed: "✓", in_progress: "▸", pending: "·" };

function PlanPanel({ plan }: { plan: readonly PlanStep[] }) {
  if (plan.length === 0) return null;
  const done = plan.filter(({ status }) => status === "completed").length;
  const now = plan.find(({ status }) => status === "in_progress");
  return (
    <details className="border-b border-line bg-surface px-4 py-1.5 text-sm">
      <summary className="flex cursor-pointer items-center gap-3">
        <span className="font-medium">Plan</span>
        <progress
          className="h-1.5 w-24 appearance-none overflow-hidden rounded bg-sunken [&::-moz-progress-bar]:bg-accent [&::-webkit-progress-bar]:bg-sunken [&::-webkit-progress-value]:bg-accent"
          aria-label="Progress of the plan"
          value={done}
          max={plan.length}
        />
        <span className="text-ink-soft tabular-nums">
          {done} of {plan.length}
        </span>
        {now && <span className="min-w-0 flex-1 truncate text-ink-soft">{visible(now.content)}</span>}
      </summary>
      <ol className="flex flex-col gap-0.5 pt-1.5">
        {plan.map(({ content, status }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: steps have nothing but their place
          <li key={index} className={classNames("flex gap-2", status === "completed" && "text-ink-faint")}>
            <span aria-hidden="true" className="w-3">
              {MARKS[status] ?? "·"}
            </span>
            <span className="sr-only">{words(status)}:</span>
            <span className="min-w-0 break-words">{visible(content)}</span>
          </li>
        ))}
      </ol>
    </details>
  );
}

function SettingsBar({ session, settings }: { session: string; settings: readonly Setting[] }) {
  const choose = useMutation({
    mutationFn: ({ setting, value }: { setting: Setting; value: string }) =>
      acpClient.choose(session, setting, value),
  });
  return (
    <>
      {settings.map((setting) => (
        <Choice
          key={setting.id}
          aria-label={setting.name}
          title={setting.name}
          className="max-w-40"
          value={setting.current}
          disabled={choose.isPending}
          options={setting.choices.map(({ value, name }) => [value, name])}
          onChange={(value) => choose.mutate({ setting, value })}
        />
      ))}
      <Failure error={choose.error} />
    </>
  );
}
