import type { Approval } from "@reins/api";
import { moment } from "../../../time.ts";
import { exact, exactWords } from "./exact.ts";

type Answer = Approval["answers"][number];

const SAID: Readonly<Record<Answer["decision"], string>> = {
  allow_once: "allowed it once",
  allow_always: "allowed it always",
  deny: "denied it",
};

/** What one person said and when. */
export function answerWords({ by, decision, note, at }: Answer): string {
  return `${exact(by)} ${SAID[decision]} at ${moment(at)}${note === undefined ? "" : `: ${exactWords(note)}`}`;
}

/** How far a question is from being answered. */
export function quorumWords({ answers, quorum }: Pick<Approval, "answers" | "quorum">): string {
  return quorum === 1 ? "one person decides" : `${answers.length} of ${quorum} people agreed so far`;
}

/** Who it takes to agree, where that is said by the rule. */
export function approverWords({
  approvers,
  four_eyes,
  quorum,
  user,
}: Pick<Approval, "approvers" | "four_eyes" | "quorum" | "user">): string {
  const roles = approvers ? `, with the role ${approvers.map(exact).join(" or ")}` : "";
  return `${roles}${four_eyes || quorum > 1 ? `, not ${exact(user)}` : ""}`;
}
