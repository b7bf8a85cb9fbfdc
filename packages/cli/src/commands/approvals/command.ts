import type { Command } from "commander";
import { declareApprove, declareDeny } from "./answer.ts";
import { declareGrants, declareRevoke } from "./grants.ts";
import { declareList } from "./list.ts";
import { declareShow } from "./show.ts";
import { declareWatch } from "./watch.ts";

export function declareApprovals(approvals: Command): void {
  approvals.description(
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
