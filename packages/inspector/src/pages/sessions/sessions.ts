import { type Session, sessionOperations } from "@reins/api";
import { type UseQueryResult, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { call, patchQuery, useGet } from "../../api/queries.ts";
import { subscribe } from "../../api/stream.ts";
import type { Tone } from "../../design/badge.tsx";
import { visible } from "../../design/format.ts";

const POLL_MS = 30_000;
const MOST = 200;
const LISTED = ["sessions", "listed"] as const;

/** The visible sessions, most recently used first. */
interface ListedSessions {
  readonly sessions: readonly Session[];
  /** Whether there are older sessions beyond these. */
  readonly hasMore: boolean;
}

/** The visible sessions, updated by a stream and polled at a low rate. */
export function useSessions(): UseQueryResult<ListedSessions> {
  const queries = useQueryClient();
  useEffect(() => {
    return subscribe(
      sessionOperations.streamSessions,
      {},
      {
        onEvent: (session) =>
          patchQuery<ListedSessions>(queries, LISTED, (now) => ({
            ...now,
            sessions: upsertSession(now.sessions, session, MOST),
          })),
        // Changes during a lost connection are not sent again.
        onState: (isOpen) => isOpen && void queries.invalidateQueries({ queryKey: LISTED }),
      },
    );
  }, [queries]);
  return useQuery({
    queryKey: LISTED,
    queryFn: async ({ signal }) => {
      const { sessions, next } = await call(sessionOperations.listSessions, {
        query: { limit: MOST },
        signal,
      });
      return { sessions, hasMore: next !== undefined };
    },
    refetchInterval: POLL_MS,
  });
}

/** The record of one session, refetched on changes and polled at a low rate. */
export function useSessionRecord(id: string): UseQueryResult<Session> {
  return useGet(["sessions", "one", id], sessionOperations.getSession, { params: { id }, everyMs: POLL_MS });
}

/** Applies a change to the list of sessions, most recently used first. */
export function upsertSession(known: readonly Session[], changed: Session, most: number): readonly Session[] {
  return [...known.filter(({ id }) => id !== changed.id), changed].toSorted(newestFirst).slice(0, most);
}

function newestFirst(one: Session, other: Session): number {
  const [first, second] = [one, other].map(({ last_activity, id }) => `${last_activity} ${id}`);
  return (first ?? "") < (second ?? "") ? 1 : -1;
}

/** The title of a session, or the beginning of its id. */
export function sessionTitle({ title, id }: Pick<Session, "title" | "id">): string {
  return title === undefined ? `Session ${id.slice(0, 8)}` : visible(title);
}

/** The state of a session in a word, with an explanation; `pending` is the number of its pending approvals. */
export function sessionState(
  { ended, state, agent_runs }: Pick<Session, "ended" | "state" | "agent_runs">,
  pending: number,
): { readonly text: string; readonly title: string; readonly tone: Tone } {
  if (ended) return { text: ended.reason, title: ended.message ?? "the session has ended", tone: "neutral" };
  if (pending > 0) return { text: "waiting", title: "waits for an approval", tone: "warn" };
  if (state === "running") return { text: "running", title: "a turn is running", tone: "accent" };
  return agent_runs
    ? { text: "idle", title: "the agent is running and waits for a prompt", tone: "neutral" }
    : { text: "resting", title: "the agent starts with the next prompt", tone: "neutral" };
}

/** Which sessions a list shows. */
export type SessionFilter = "open" | "running" | "ended" | "all";

/** Reads a filter; anything unknown is `open`. */
export function sessionFilter(value: string): SessionFilter {
  return value === "running" || value === "ended" || value === "all" ? value : "open";
}

/** The sessions of a filter whose title, agent, folder or id contains some text, in any case. */
export function filterSessions(
  sessions: readonly Session[],
  filter: SessionFilter,
  text: string,
): readonly Session[] {
  const wanted = text.trim().toLowerCase();
  return sessions.filter(
    ({ title = "", agent, cwd, id, state, ended }) =>
      (filter === "all" ||
        (filter === "running" ? state === "running" : (filter === "ended") === Boolean(ended))) &&
      [title, agent, cwd, id].some((one) => one.toLowerCase().includes(wanted)),
  );
}
