import type { Command } from "commander";
import { declareApprove, declareDeny } from "./answer/command.ts";
import { declareGrants, declareRevoke } from "./grants/command.ts";
import { declareList } from "./list/command.ts";
import { declareShow } from "./show/command.ts";
import { declareWatch } from "./watch/command.ts";

/** Declares `reins approvals` and what belongs to it. */
export function declareApprovals(program: Command): void {
  const approvals = program
    .command("approvals")
    .summary("see and answer what agents ask leave for")
    .description(
      "What a rule says to ask about waits for a person. An answer counts for exactly what was asked; " +
        "what nobody answers in time is blocked.",
    );
  declareList(approvals);
  declareShow(approvals);
  declareApprove(approvals);
  declareDeny(approvals);
  declareWatch(approvals);
  declareGrants(approvals);
  declareRevoke(approvals);
}
