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
    "constitution.yaml says what agents may do. These commands check, test and explain it, and apply a draft to past " +
      "decisions before it is in force. Only accept changes anything, and all of them work while " +
      "Reins runs.",
  );
  declareCheck(policy, invocation);
  declareTest(policy, invocation);
  declareExplain(policy);
  declareDiff(policy);
  declareBacktest(policy, invocation);
  declareCoverage(policy);
  declareAccept(policy);
}
