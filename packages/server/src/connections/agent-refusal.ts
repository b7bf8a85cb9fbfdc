import { errorMessage } from "@reins/kit";
import { Refusal } from "../problems/refusal.ts";

/** What whoever wanted an agent is told when it cannot be had. */
export function agentRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  const detail = errorMessage(error);
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  if (code === "unknown_agent" || code === "unsupported_agent")
    return new Refusal("invalid", detail, { cause: error });
  if (code === "agent_not_installed") return new Refusal("not_found", detail, { cause: error });
  return new Refusal("bad_gateway", detail, { cause: error });
}
