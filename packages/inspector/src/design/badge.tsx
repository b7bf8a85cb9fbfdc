import type { ReactNode } from "react";
import { classNames } from "./class-names.ts";

/** What a colour says. */
export type Tone = "neutral" | "accent" | "good" | "warn" | "bad" | "note";

const TONES: Readonly<Record<Tone, string>> = {
  neutral: "bg-sunken text-ink-soft",
  accent: "bg-accent-wash text-accent",
  good: "bg-good-wash text-good",
  warn: "bg-warn-wash text-warn",
  bad: "bg-bad-wash text-bad",
  note: "bg-note-wash text-note",
};

/** A word about something, with a colour that repeats what the word says. */
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
