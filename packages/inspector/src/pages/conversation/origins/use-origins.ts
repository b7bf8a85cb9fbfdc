import { type Session, sessionOperations } from "@reins/api";
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { acpClient } from "../../../acp/open-client.ts";
import { call } from "../../../api/call.ts";
import { isForked, type Origin, originsOf } from "./origins.ts";

/** What was said in the sessions that a session goes on from. It does not change any more. */
export function useOrigins(session: Session): UseQueryResult<readonly Origin[]> {
  return useQuery({
    queryKey: ["origins", session.id],
    queryFn: ({ signal }) =>
      originsOf(session, {
        session: (id) => call(sessionOperations.getSession, { params: { id }, signal }),
        history: (id, until) => acpClient.history(id, until),
      }),
    enabled: isForked(session),
    staleTime: Number.POSITIVE_INFINITY,
  });
}
