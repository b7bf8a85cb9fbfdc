import { type AgentProcess, KeptStderr } from "@reins/api";
import type { Hosting } from "@reins/host";
import type { GovernedCall } from "../../dialect/call.ts";

/** The agents that run and that whoever asks may see, the oldest first. */
export async function shownProcesses(
  { register, hub }: Hosting,
  { principal, supervisor, harness }: GovernedCall,
  agent?: string,
): Promise<AgentProcess[]> {
  const isAdmin = supervisor.isAdmin(principal);
  const isOperator = principal.id === supervisor.LOCAL;
  const seen = register.all.filter(
    (live) =>
      (agent === undefined || live.agent === agent) &&
      (isOperator || live.tenant === principal.tenant) &&
      (isAdmin || live.principal === principal.id),
  );
  const { memoryOf } = await import("@reins/host");
  const uses = memoryOf(seen.map(({ roots }) => roots.map(({ pid }) => pid)));
  const versions = new Map((await hub.running()).map(({ id, version }) => [id, version]));
  return seen.map((live, index) => {
    const { id, agent, pid, principal: holder, started_at, confined, sessions } = live;
    const kept = isAdmin ? register.processOf(id)?.stderr() : undefined;
    return {
      ...{ id, agent, pid, principal: holder, started_at, confined, sessions: [...sessions] },
      version: versions.get(id) ?? "starting",
      memory_bytes: uses?.[index]?.bytes ?? null,
      processes: uses?.[index]?.processes ?? null,
      stderr: kept ? KeptStderr.parse(harness.redact(kept)) : null,
    };
  });
}
