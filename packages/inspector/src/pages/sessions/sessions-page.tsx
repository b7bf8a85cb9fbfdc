import type { Session } from "@reins/api";
import { useNavigate, useSearch } from "@tanstack/react-router";
import { useCallback, useEffect, useMemo, useState } from "react";
import { isWriting } from "../../app/use-go-keys.ts";
import { Button } from "../../design/button.tsx";
import { Choice, TextInput } from "../../design/field.tsx";
import { Page } from "../../design/page.tsx";
import { Panel } from "../../design/panel.tsx";
import { Empty, Failure, Waiting } from "../../design/states.tsx";
import { Table } from "../../design/table.tsx";
import { useListKeys } from "../../design/use-list-keys.ts";
import { useNarrow } from "../../design/use-narrow.ts";
import { BeginDialog } from "./begin-dialog.tsx";
import { SessionItem } from "./session-item.tsx";
import { SessionRow } from "./session-row.tsx";
import { useSessions } from "./use-sessions.ts";

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

/** Which sessions are shown. */
type Shown = "open" | "running" | "ended" | "all";

/** Every session one may see, and the way to a new one. */
export function SessionsPage() {
  const { data, error, refetch } = useSessions();
  const { start: isBeginning = false } = useSearch({ from: "/sessions" });
  const navigate = useNavigate();
  const setBeginning = useCallback(
    (start: boolean) => void navigate({ to: "/sessions", search: start ? { start: true } : {} }),
    [navigate],
  );
  const [shown, setShown] = useState<Shown>("open");
  const [words, setWords] = useState("");
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      if (
        event.defaultPrevented ||
        event.key !== "n" ||
        event.ctrlKey ||
        event.metaKey ||
        event.altKey ||
        isWriting(event.target)
      )
        return;
      event.preventDefault();
      setBeginning(true);
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [setBeginning]);
  const all = data?.sessions ?? [];
  const sessions = all.filter((session) => isShown(session, shown) && matches(session, words));
  const folders = [...new Set(all.map(({ cwd }) => cwd))];
  const begin = (
    <Button kind="primary" title="Start a session (n)" onClick={() => setBeginning(true)}>
      Start a session
    </Button>
  );
  return (
    <Page title="Sessions" about="Every conversation with an agent that you may see." actions={begin}>
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
          onChange={({ target }) => setShown(shownOf(target.value))}
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
          <Waiting what="Fetching the sessions" />
        ) : sessions.length === 0 ? (
          <Empty title={all.length === 0 ? "No agent has worked here yet" : "No session is like that"}>
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
      <BeginDialog open={isBeginning} onClose={() => setBeginning(false)} folders={folders} />
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

function isShown({ ended, state }: Session, shown: Shown): boolean {
  if (shown === "all") return true;
  if (shown === "running") return state === "running";
  return shown === "ended" ? ended !== undefined : ended === undefined;
}

function shownOf(value: string): Shown {
  return value === "running" || value === "ended" || value === "all" ? value : "open";
}

function matches({ title = "", agent, cwd, id }: Session, words: string): boolean {
  const wanted = words.trim().toLowerCase();
  return [title, agent, cwd, id].some((text) => text.toLowerCase().includes(wanted));
}
