import { agentOperations } from "../agent-operations.ts";
import { hostOperations } from "../host-operations.ts";
import type { Operation } from "../operation.ts";
import { operations } from "../operations.ts";
import { operatorOperations } from "../operator-operations.ts";

/** All that a Reins which hosts agents can be asked for. */
export const everyOperation: readonly Operation[] = [
  ...operations,
  ...operatorOperations,
  ...agentOperations,
  ...hostOperations,
];
