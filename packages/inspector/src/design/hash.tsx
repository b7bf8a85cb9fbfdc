import { useCopied } from "./use-copied.ts";

const SAYS = { copied: "copied", refused: "not copied" } as const;

/** A hash, short; a click copies all of it. */
export function Hash({ value, length = 10 }: { value: string; length?: number }) {
  const { copied, copy } = useCopied();
  return (
    <button
      type="button"
      title={`${value}\nClick to copy`}
      onClick={() => copy(value)}
      className="cursor-copy rounded font-mono text-2xs text-ink-soft hover:text-ink"
    >
      {copied ? SAYS[copied] : `${value.slice(0, length)}…`}
    </button>
  );
}
