import { Badge, type Tone } from "./badge.tsx";

const TONES: Readonly<Record<string, Tone>> = {
  turn: "accent",
  approval: "note",
  policy_change: "note",
  kill: "bad",
};

/** What an entry of the ledger records. */
export function QualityBadge({ quality }: { quality: string }) {
  return <Badge tone={TONES[quality] ?? "neutral"}>{quality.replaceAll("_", " ")}</Badge>;
}
