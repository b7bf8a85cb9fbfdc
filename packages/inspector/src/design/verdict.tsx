import { Badge, type Tone } from "./badge.tsx";

/** How each verdict looks, wherever one is shown. */
const TONES: Readonly<Record<string, Tone>> = {
  allowed: "good",
  blocked: "bad",
  ask: "warn",
  asked: "warn",
  modify: "note",
  defer: "note",
  ungated: "bad",
};

/** A verdict, in its own word or, with `label`, in more. */
export function VerdictBadge({ verdict, label, title }: { verdict: string; label?: string; title?: string }) {
  return (
    <Badge tone={TONES[verdict] ?? "neutral"} {...(title !== undefined && { title })}>
      {label ?? verdict}
    </Badge>
  );
}

const LEVELS: Readonly<Record<string, readonly [Tone, string]>> = {
  performed: ["good", "Reins itself carries the action out"],
  confined: ["good", "the operating system stops what was not allowed"],
  asked: ["warn", "the agent asked, and honours the answer"],
  observed: ["bad", "seen after the fact; no verdict came first"],
};

/** How far a verdict is enforced. */
export function LevelBadge({ level }: { level: string }) {
  const [tone, title] = LEVELS[level] ?? ["neutral", ""];
  return (
    <Badge tone={tone} title={title}>
      {level}
    </Badge>
  );
}
