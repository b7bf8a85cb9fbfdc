import type { Command } from "commander";
import { declareApprove, declareDeny } from "./answer.ts";
import { declareGrants, declareRevoke } from "./grants.ts";
import { declareList } from "./list.ts";
import { declareShow } from "./show.ts";
import { declareWatch } from "./watch.ts";

export function declareApprovals(approvals: Command): void {
  approvals.description(
    "An action that a rule asks about waits for a person. An answer applies to exactly what was asked; " +
      "an action that is not answered in time is blocked.",
  );
  declareList(approvals);
  declareShow(approvals);
  declareApprove(approvals);
  declareDeny(approvals);
  declareWatch(approvals);
  declareGrants(approvals);
  declareRevoke(approvals);
}
