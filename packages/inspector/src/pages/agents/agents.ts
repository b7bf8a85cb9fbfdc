import { type Agent, type AgentDetail, agentsOperations } from "@reins/api";
import { type UseQueryResult, useQuery } from "@tanstack/react-query";
import { call } from "../../api/call.ts";

const EVERY_MS = 10_000;
/** The query key of everything about agents. */
export const AGENTS = ["agents"] as const;

/** Every agent of the catalogue, polled. */
export function useAgents(): UseQueryResult<readonly Agent[]> {
  return useQuery({
    queryKey: [...AGENTS, "all"],
    queryFn: async ({ signal }) => (await call(agentsOperations.listAgents, { signal })).agents,
    refetchInterval: EVERY_MS,
  });
}

/** The details of one agent, polled. */
export function useAgent(agent: string): UseQueryResult<AgentDetail> {
  return useQuery({
    queryKey: [...AGENTS, "one", agent],
    queryFn: ({ signal }) => call(agentsOperations.getAgent, { params: { agent }, signal }),
    refetchInterval: EVERY_MS,
  });
}
