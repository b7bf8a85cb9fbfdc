import type { Session } from "@reins/api";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { usePendingOf } from "../../app/approvals.ts";
import { focusSelected, useKeys, useListKeys } from "../../app/keys.ts";
import { Badge, LevelBadge } from "../../design/badge.tsx";
import { Button } from "../../design/button.tsx";
import { Choice, TextInput } from "../../design/form.tsx";
import { dollars, visible } from "../../design/format.ts";
import { Page, Panel, useNarrow } from "../../design/layout.tsx";
import { Moment } from "../../design/moment.tsx";
import { Empty, Loaded } from "../../design/states.tsx";
import { Table } from "../../design/table.tsx";
import { SessionActions, StateBadge } from "./session-actions.tsx";
import { filterSessions, type SessionFilter, sessionFilter, sessionTitle, useSessions } from "./sessions.ts";
import { StartDialog } from "./start-dialog.tsx";

const FILTERS = [
  ["open", "Not ended"],
  ["running", "Running"],
  ["ended", "Ended"],
  ["all", "All"],
] as const;

/** The visible sessions, and the dialog that starts one. */
export function SessionsPage() {
  const query = useSessions();
  const { start: isStarting = false } = useSearch({ from: "/sessions" });
  const navigate = useNavigate();
  const setStarting = (start: boolean) =>
    void navigate({ to: "/sessions", search: start ? { start: true } : {} });
  const [shown, setShown] = useState<SessionFilter>("open");
  const [words, setWords] = useState("");
  useKeys((event) => {
    if (event.key !== "n") return;
    event.preventDefault();
    setStarting(true);
  });
  const all = query.data?.sessions ?? [];
  const sessions = filterSessions(all, shown, words);
  const folders = [...new Set(all.map(({ cwd }) => cwd))];
  const startButton = (
    <Button kind="primary" title="Start a session (n)" onClick={() => setStarting(true)}>
      Start a session
    </Button>
  );
  return (
    <Page title="Sessions" about="Conversations with agents." actions={startButton}>
      <div className="flex flex-wrap gap-2">
        <TextInput
          aria-label="Search"
          placeholder="Title, agent or folder"
          className="max-w-64"
          value={words}
          onChange={setWords}
        />
        <Choice
          aria-label="Which sessions"
          className="max-w-40"
          value={shown}
          options={FILTERS}
          onChange={(value) => setShown(sessionFilter(value))}
        />
      </div>
      <Panel>
        <Loaded query={query} what="Loading sessions">
          {() =>
            sessions.length === 0 ? (
              <Empty title={all.length === 0 ? "No sessions yet" : "No matching sessions"}>
                {all.length === 0
                  ? "Start a session with the built-in demo: it needs no key and no network, and everything it does is governed for real."
                  : "Change the filter above to see others."}
              </Empty>
            ) : (
              <List sessions={sessions} />
            )
          }
        </Loaded>
      </Panel>
      {query.data?.hasMore && (
        <p className="text-2xs text-ink-faint">
          Only the {all.length} most recently used sessions are looked through here; GET /v1/sessions gives
          all.
        </p>
      )}
      <StartDialog open={isStarting} onClose={() => setStarting(false)} folders={folders} />
    </Page>
  );
}

function List({ sessions }: { sessions: readonly Session[] }) {
  const chosen = useListKeys(useMemo(() => sessions.map(({ id }) => id), [sessions]));
  if (useNarrow())
    return (
      <ul aria-label="Sessions" className="divide-y divide-line">
        {sessions.map((session) => (
          <SessionItem key={session.id} session={session} />
        ))}
      </ul>
    );
  return (
    <Table
      label="Sessions"
      rows={sessions}
      keyOf={({ id }) => id}
      isChosen={({ id }) => id === chosen}
      columns={[
        {
          title: "Session",
          className: "max-w-80",
          cell: (session) => (
            <>
              <Link
                to="/sessions/$id"
                params={{ id: session.id }}
                ref={session.id === chosen ? focusSelected : undefined}
                className="block truncate font-medium text-accent hover:underline"
              >
                {sessionTitle(session)}
              </Link>
              <span className="block truncate font-mono text-2xs text-ink-faint" title={session.cwd}>
                {visible(session.cwd)}
              </span>
            </>
          ),
        },
        { title: "Agent", cell: ({ agent }) => visible(agent) },
        { title: "State", cell: (session) => <PendingState session={session} /> },
        {
          title: "Trust",
          cell: ({ trust }) =>
            trust && <Badge tone={trust === "unknown" ? "warn" : "neutral"}>{trust}</Badge>,
        },
        { title: "Level", cell: ({ enforcement }) => enforcement && <LevelBadge level={enforcement} /> },
        {
          title: "Cost",
          isNumber: true,
          cell: ({ cost_usd }) => (cost_usd === undefined ? "–" : dollars(cost_usd)),
        },
        { title: "Approvals", isNumber: true, cell: ({ id }) => <PendingCount id={id} /> },
        { title: "Last used", isNumber: true, cell: ({ last_activity }) => <Moment at={last_activity} /> },
        {
          title: "Actions",
          isHidden: true,
          cell: (session) => <SessionActions session={session} canStop />,
        },
      ]}
    />
  );
}

function PendingState({ session }: { session: Session }) {
  return <StateBadge session={session} pending={usePendingOf(session.id)} />;
}

function PendingCount({ id }: { id: string }) {
  const pending = usePendingOf(id);
  if (pending === 0) return "–";
  return (
    <Link to="/approvals" className="font-semibold text-warn underline">
      {pending}
    </Link>
  );
}

function SessionItem({ session }: { session: Session }) {
  const { id, agent, cwd, enforcement, cost_usd, last_activity } = session;
  return (
    <li>
      <Link to="/sessions/$id" params={{ id }} className="flex flex-col gap-1 px-3 py-2 active:bg-sunken">
        <span className="flex items-center gap-2">
          <span className="min-w-0 flex-1 truncate font-medium text-accent">{sessionTitle(session)}</span>
          <PendingState session={session} />
        </span>
        <span className="flex items-center gap-2 text-2xs text-ink-faint">
          <span>{visible(agent)}</span>
          {enforcement && <LevelBadge level={enforcement} />}
          <span className="min-w-0 flex-1 truncate font-mono">{visible(cwd)}</span>
          {cost_usd !== undefined && <span>{dollars(cost_usd)}</span>}
          <Moment at={last_activity} />
        </span>
      </Link>
    </li>
  );
}
