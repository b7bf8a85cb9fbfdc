import { type Session, sessionOperations } from "@reins/api";
import { type UseQueryResult, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { call } from "../../api/call.ts";
import { follow } from "../../api/stream.ts";
import { visible } from "../../design/visible.ts";

const SELDOM_MS = 30_000;
const MOST = 200;
const LISTED = ["sessions", "listed"] as const;

/** Sessions that one may see, the most recently used first. */
interface ListedSessions {
  readonly sessions: readonly Session[];
  /** Whether there are more, which were not used for longer. */
  readonly hasMore: boolean;
}

/** The sessions that one may see, as they change; looked at again seldom beside that. */
export function useSessions(): UseQueryResult<ListedSessions> {
  const queries = useQueryClient();
  useEffect(() => {
    const again = () => void queries.invalidateQueries({ queryKey: LISTED });
    return follow(
      sessionOperations.streamSessions,
      {},
      {
        onEvent: (session) => {
          queries.setQueryData<ListedSessions>(
            LISTED,
            (now) => now && { ...now, sessions: sessionsWith(now.sessions, session, MOST) },
          );
          // A list that is on its way may be older than this.
          if (queries.isFetching({ queryKey: LISTED }) > 0) again();
        },
        // What changed while nobody listened is not told again.
        onState: (isOpen) => isOpen && again(),
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
    refetchInterval: SELDOM_MS,
  });
}

/** One session, looked at again when whoever follows it hears of a change, and seldom beside that. */
export function useSessionRecord(id: string): UseQueryResult<Session> {
  return useQuery({
    queryKey: ["sessions", "one", id],
    queryFn: ({ signal }) => call(sessionOperations.getSession, { params: { id }, signal }),
    refetchInterval: SELDOM_MS,
  });
}

/** The sessions that are listed, the most recently used first, after one of them, or a new one, has changed. */
export function sessionsWith(known: readonly Session[], changed: Session, most: number): readonly Session[] {
  return [...known.filter(({ id }) => id !== changed.id), changed].toSorted(newestFirst).slice(0, most);
}

function newestFirst(one: Session, other: Session): number {
  const [first, second] = [one, other].map(({ last_activity, id }) => `${last_activity} ${id}`);
  return (first ?? "") < (second ?? "") ? 1 : -1;
}

/** What a session is called: by its title, or by the beginning of its id. */
export function titleOf({ title, id }: Pick<Session, "title" | "id">): string {
  return title === undefined ? `Session ${id.slice(0, 8)}` : visible(title);
}
