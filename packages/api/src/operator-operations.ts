import { agentsOperations } from "./agents/operations.ts";
import { killOperations } from "./kill/kill.ts";
import { metricsOperations } from "./metrics/metrics.ts";
import type { Operation } from "./operation.ts";
import { wireOperations } from "./wire/wire.ts";

/** What can be asked for where somebody operates a Reins that runs. */
export const operatorOperations: readonly Operation[] = [
  agentsOperations,
  killOperations,
  metricsOperations,
  wireOperations,
].flatMap((group): readonly Operation[] => Object.values(group));
