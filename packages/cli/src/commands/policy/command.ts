import type { Command } from "commander";
import type { Invocation } from "../../program.ts";
import { declareAccept } from "./accept.ts";
import { declareBacktest } from "./backtest.ts";
import { declareCheck, declareTest } from "./check.ts";
import { declareCoverage } from "./coverage.ts";
import { declareDiff } from "./diff.ts";
import { declareExplain } from "./explain.ts";

export function declarePolicy(policy: Command, invocation: Invocation): void {
  policy.description(
    "What agents may do stands in constitution.yaml. Here it is checked, explained, and tried on what" +
      " was decided in the past before it counts. Nothing here but accept changes anything, and " +
      "all of it works while Reins runs.",
  );
  declareCheck(policy, invocation);
  declareTest(policy, invocation);
  declareExplain(policy);
  declareDiff(policy);
  declareBacktest(policy, invocation);
  declareCoverage(policy);
  declareAccept(policy);
}
