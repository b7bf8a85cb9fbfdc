import type { Session } from "@reins/api";
import { Link, useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useState } from "react";
import { usePendingOf } from "../../app/approvals.ts";
import { focusSelected, isTyping, useListKeys } from "../../app/navigation.ts";
import { Badge, LevelBadge } from "../../design/badge.tsx";
import { Button } from "../../design/button.tsx";
import { Choice, TextInput } from "../../design/form.tsx";
import { dollars } from "../../design/format.ts";
import { classNames, Page, Panel, useNarrow } from "../../design/layout.tsx";
import { Moment } from "../../design/moment.tsx";
import { Empty, Failure, Waiting } from "../../design/states.tsx";
import { Cell, Table } from "../../design/table.tsx";
import { visible } from "../../design/visible.ts";
import { SessionActions, StateBadge } from "./session-actions.tsx";
import { filterSessions, type SessionFilter, sessionFilter, sessionTitle, useSessions } from "./sessions.ts";
import { StartDialog } from "./start-dialog.tsx";

const COLUMNS = [
  { title: "Session" },
  { title: "Agent" },
  { title: "State" },
  { title: "Trust" },
  { title: "Level" },
  { title: "Cost", isNumber: true },
  { title: "Approvals", isNumber: true },
  { title: "Last used", isNumber: true },
  { title: "Actions", isHidden: true },
];

/** The visible sessions, and the dialog that starts one. */
export function SessionsPage() {
  const { data, error, refetch } = useSessions();
  const { start: isBeginning = false } = useSearch({ from: "/sessions" });
  const navigate = useNavigate();
  const setBeginning = useCallback(
    (start: boolean) => void navigate({ to: "/sessions", search: start ? { start: true } : {} }),
    [navigate],
  );
  const [shown, setShown] = useState<SessionFilter>("open");
  const [words, setWords] = useState("");
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (
        event.defaultPrevented ||
        event.key !== "n" ||
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        isTyping(event.target)
      )
        return;
      event.preventDefault();
      setBeginning(true);
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [setBeginning]);
  const all = data?.sessions ?? [];
  const sessions = filterSessions(all, shown, words);
  const folders = [...new Set(all.map(({ cwd }) => cwd))];
  const begin = (
    <Button kind="primary" title="Start a session (n)" onClick={() => setBeginning(true)}>
      Start a session
    </Button>
  );
  return (
    <Page title="Sessions" about="Conversations with agents." actions={begin}>
      <div className="flex flex-wrap gap-2">
        <TextInput
          aria-label="Search"
          placeholder="Title, agent or folder"
          className="max-w-64"
          value={words}
          onChange={({ target }) => setWords(target.value)}
        />
        <Choice
          aria-label="Which sessions"
          className="max-w-40"
          value={shown}
          onChange={({ target }) => setShown(sessionFilter(target.value))}
        >
          <option value="open">Not ended</option>
          <option value="running">Running</option>
          <option value="ended">Ended</option>
          <option value="all">All</option>
        </Choice>
      </div>
      <Panel>
        {error && !data ? (
          <Failure error={error} onRetry={() => void refetch()} />
        ) : !data ? (
          <Waiting what="Loading sessions" />
        ) : sessions.length === 0 ? (
          <Empty title={all.length === 0 ? "No sessions yet" : "No matching sessions"}>
            {all.length === 0
              ? "Start a session with the built-in demo: it needs no key and no network, and everything it does is governed for real."
              : "Change the filter above to see others."}
          </Empty>
        ) : (
          <List sessions={sessions} />
        )}
      </Panel>
      {data?.hasMore && (
        <p className="text-2xs text-ink-faint">
          Only the {all.length} most recently used sessions are looked through here; GET /v1/sessions gives
          all.
        </p>
      )}
      <StartDialog open={isBeginning} onClose={() => setBeginning(false)} folders={folders} />
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
    <Table label="Sessions" columns={COLUMNS}>
      {sessions.map((session) => (
        <SessionRow key={session.id} session={session} isChosen={session.id === chosen} />
      ))}
    </Table>
  );
}

/** A session in the list of a narrow screen. */
function SessionItem({ session }: { session: Session }) {
  const { id, agent, cwd, enforcement, cost_usd, last_activity } = session;
  return (
    <li>
      <Link to="/sessions/$id" params={{ id }} className="flex flex-col gap-1 px-3 py-2 active:bg-sunken">
        <span className="flex items-center gap-2">
          <span className="min-w-0 flex-1 truncate font-medium text-accent">{sessionTitle(session)}</span>
          <StateBadge session={session} pending={usePendingOf(id)} />
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

/** A session in the table. */
function SessionRow({ session, isChosen }: { session: Session; isChosen: boolean }) {
  const pending = usePendingOf(session.id);
  const { id, agent, cwd, trust, enforcement, cost_usd, last_activity } = session;
  return (
    <tr className={classNames(isChosen && "bg-accent-wash")}>
      <Cell className="max-w-80">
        <Link
          to="/sessions/$id"
          params={{ id }}
          ref={isChosen ? focusSelected : undefined}
          className="block truncate font-medium text-accent hover:underline"
        >
          {sessionTitle(session)}
        </Link>
        <span className="block truncate font-mono text-2xs text-ink-faint" title={cwd}>
          {visible(cwd)}
        </span>
      </Cell>
      <Cell>{visible(agent)}</Cell>
      <Cell>
        <StateBadge session={session} pending={pending} />
      </Cell>
      <Cell>{trust && <Badge tone={trust === "unknown" ? "warn" : "neutral"}>{trust}</Badge>}</Cell>
      <Cell>{enforcement && <LevelBadge level={enforcement} />}</Cell>
      <Cell isNumber>{cost_usd === undefined ? "–" : dollars(cost_usd)}</Cell>
      <Cell isNumber>
        {pending > 0 ? (
          <Link to="/approvals" className="font-semibold text-warn underline">
            {pending}
          </Link>
        ) : (
          "–"
        )}
      </Cell>
      <Cell isNumber>
        <Moment at={last_activity} />
      </Cell>
      <Cell>
        <SessionActions session={session} canStop />
      </Cell>
    </tr>
  );
}
