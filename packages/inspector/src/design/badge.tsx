import type { ReactNode } from "react";
import { visible, words } from "./format.ts";
import { classNames } from "./layout.tsx";

export type Tone = "neutral" | "accent" | "good" | "warn" | "bad" | "note";

const TONES: Readonly<Record<Tone, string>> = {
  neutral: "bg-sunken text-ink-soft",
  accent: "bg-accent-wash text-accent",
  good: "bg-good-wash text-good",
  warn: "bg-warn-wash text-warn",
  bad: "bg-bad-wash text-bad",
  note: "bg-note-wash text-note",
};

/** A coloured label; the colour repeats what the text says. */
export function Badge({
  tone = "neutral",
  title,
  children,
}: {
  tone?: Tone;
  title?: string;
  children: ReactNode;
}) {
  return (
    <span
      title={title}
      className={classNames(
        "inline-flex items-center gap-1 rounded px-1.5 py-px text-2xs font-medium whitespace-nowrap",
        TONES[tone],
      )}
    >
      {children}
    </span>
  );
}

const VERDICT_TONES: Readonly<Record<string, Tone>> = {
  allowed: "good",
  blocked: "bad",
  ask: "warn",
  asked: "warn",
  modify: "note",
  defer: "note",
  ungated: "bad",
};

/** A verdict, labelled with its own word unless `label` is given. */
export function VerdictBadge({ verdict, label, title }: { verdict: string; label?: string; title?: string }) {
  return (
    <Badge tone={VERDICT_TONES[verdict] ?? "neutral"} {...(title !== undefined && { title })}>
      {label ?? verdict}
    </Badge>
  );
}

const LEVELS: Readonly<Record<string, readonly [Tone, string]>> = {
  performed: ["good", "Reins performs the action itself"],
  confined: ["good", "the operating system blocks what was not allowed"],
  asked: ["warn", "the agent asks and obeys the answer"],
  observed: ["bad", "observed afterwards; no verdict before"],
};

/** The enforcement level of a verdict. */
export function LevelBadge({ level }: { level: string }) {
  const [tone, title] = LEVELS[level] ?? ["neutral", ""];
  return (
    <Badge tone={tone} title={title}>
      {level}
    </Badge>
  );
}

const QUALITY_TONES: Readonly<Record<string, Tone>> = {
  turn: "accent",
  approval: "note",
  policy_change: "note",
  kill: "bad",
};

/** The kind of a ledger entry. */
export function QualityBadge({ quality }: { quality: string }) {
  return <Badge tone={QUALITY_TONES[quality] ?? "neutral"}>{words(quality)}</Badge>;
}

const STATUS_TONES: Readonly<Record<string, Tone>> = {
  completed: "good",
  passed: "good",
  failed: "bad",
  blocked: "bad",
  needs_review: "warn",
  waiting: "warn",
  executing: "accent",
  verifying: "accent",
  running: "accent",
  in_progress: "accent",
};

/** The status of a tool call, a run, a task, a check or a verification; `of` says which. */
export function StatusBadge({ status, of = "" }: { status: string; of?: string }) {
  return <Badge tone={STATUS_TONES[status] ?? "neutral"}>{`${of} ${words(visible(status))}`.trim()}</Badge>;
}
