import type { Agent } from "@reins/api";
import { Badge, type Tone } from "../../design/badge.tsx";

const TONES: Readonly<Record<string, Tone>> = {
  not_needed: "neutral",
  unverified: "warn",
  verified: "good",
  outdated: "warn",
};

/** Whether it was proved that an agent asks before it acts. */
export function VerificationBadge({ verification }: { verification: Agent["verification"] }) {
  const { state, live, why, faults } = verification;
  if (state === "verified" && live === false)
    return (
      <Badge tone="bad" title={faults?.join("; ") ?? ""}>
        gate not live
      </Badge>
    );
  if (state === "not_needed") return null;
  return (
    <Badge tone={TONES[state] ?? "neutral"} {...(why !== undefined && { title: why })}>
      {state}
    </Badge>
  );
}
