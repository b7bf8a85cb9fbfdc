import type { Approval } from "@reins/api";
import { Badge, type Tone } from "../../design/badge.tsx";

const TONES: Readonly<Record<Approval["state"], Tone>> = {
  pending: "warn",
  approved: "good",
  used: "good",
  denied: "bad",
  expired: "neutral",
  withdrawn: "neutral",
};

/** What became of an approval, in a word. */
export function ApprovalState({ state }: Pick<Approval, "state">) {
  return <Badge tone={TONES[state]}>{state}</Badge>;
}
