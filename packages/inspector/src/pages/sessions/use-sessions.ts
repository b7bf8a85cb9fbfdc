import { type Session, sessionOperations } from "@reins/api";
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { call } from "../../api/call.ts";

const EVERY_MS = 2_000;
const SELDOM_MS = 30_000;
const MOST = 200;

/** The sessions that one may see, the most recently used first, looked at again every so often. */
export function useSessions(): UseQueryResult<readonly Session[]> {
  return useQuery({
    queryKey: ["sessions"],
    queryFn: async ({ signal }) => {
      const { sessions } = await call(sessionOperations.listSessions, { query: { limit: MOST }, signal });
      return sessions;
    },
    refetchInterval: EVERY_MS,
  });
}

/** One session, looked at again when whoever follows it hears of a change, and seldom beside that. */
export function useSessionRecord(id: string): UseQueryResult<Session> {
  return useQuery({
    queryKey: ["sessions", id],
    queryFn: ({ signal }) => call(sessionOperations.getSession, { params: { id }, signal }),
    refetchInterval: SELDOM_MS,
  });
}
