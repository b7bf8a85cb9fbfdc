import type { Change } from "@reins/store";
import { type Approval, isOver } from "./approval.ts";
import type { Grant } from "./grant.ts";

/** What people have settled about an action. */
export interface Settled {
  readonly verdict: "allowed" | "blocked";
  readonly reason: string;
  readonly approval?: Approval;
  readonly grant?: Grant;
  /** For `allowed`: to be committed with the verdict. */
  readonly change?: Change<undefined>;
}

/**
 * What an answer or a grant says. A yes counts until it is used or over. A no counts for the turn that asked, and
 * where turns are not known until the question would have been over: whoever asks again at once is not heard again.
 */
export function settledBy(
  approval: Approval | undefined,
  grant: Grant | undefined,
  turn: string | undefined,
  now: Date,
): Omit<Settled, "change"> | undefined {
  const counts = approval !== undefined && !isOver(approval, now);
  if (counts && approval.state === "approved")
    return { verdict: "allowed", reason: `approved by ${named(approval.answers)}`, approval };
  if (counts && approval.state === "denied" && (turn === undefined || turn === approval.turn))
    return { verdict: "blocked", reason: denial(approval), approval };
  if (grant)
    return { verdict: "allowed", reason: `always allowed by ${grant.by.join(", ")} (${grant.id})`, grant };
  return undefined;
}

function named(answers: Approval["answers"]): string {
  return answers.map(({ by }) => by).join(", ");
}

function denial({ answers }: Approval): string {
  const no = answers.find(({ decision }) => decision === "deny");
  return `denied by ${no?.by}${no?.note === undefined ? "" : `: ${no.note}`}`;
}
