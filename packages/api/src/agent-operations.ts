import { acpOperations, rpcOperations } from "./acp/operations.ts";
import { connectionOperations } from "./connections/connections.ts";
import type { Operation } from "./operation.ts";
import { sessionOperations } from "./sessions/sessions.ts";

/** What can be asked for where agents are served. */
export const agentOperations: readonly Operation[] = [
  rpcOperations,
  acpOperations,
  sessionOperations,
  connectionOperations,
].flatMap((group): readonly Operation[] => Object.values(group));
