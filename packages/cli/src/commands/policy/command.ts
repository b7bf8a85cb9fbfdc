import type { Command } from "commander";
import type { Invocation } from "../../program.ts";
import { declareAccept } from "./accept/command.ts";
import { declareBacktest } from "./backtest/command.ts";
import { declareCheck } from "./check/command.ts";
import { declareCoverage } from "./coverage/command.ts";
import { declareDiff } from "./diff/command.ts";
import { declareExplain } from "./explain/command.ts";
import { declareTest } from "./test/command.ts";

/** Declares `reins policy` and what belongs to it. */
export function declarePolicy(program: Command, invocation: Invocation): void {
  const policy = program
    .command("policy")
    .summary("check, test, explain and try out a constitution")
    .description(
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
