import type { Approval } from "@reins/api";
import { visible } from "../../design/visible.ts";

/** An answer that somebody gave: what, who, and why. */
export function GivenAnswer({ answer }: { answer: Approval["answers"][number] }) {
  return (
    <>
      {answer.decision.replace("_", " ")} by {visible(answer.by)}
      {answer.note !== undefined && <q className="block text-ink-soft">{visible(answer.note)}</q>}
    </>
  );
}
