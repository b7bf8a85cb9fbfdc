import { useState } from "react";

/** A hash, short; a click copies all of it. */
export function Hash({ value, length = 10 }: { value: string; length?: number }) {
  const [copied, setCopied] = useState(false);
  const copy = async () => {
    await navigator.clipboard.writeText(value);
    setCopied(true);
    setTimeout(() => setCopied(false), 1_200);
  };
  return (
    <button
      type="button"
      title={`${value}\nClick to copy`}
      onClick={() => void copy()}
      className="cursor-copy rounded font-mono text-2xs text-ink-soft hover:text-ink"
    >
      {copied ? "copied" : `${value.slice(0, length)}…`}
    </button>
  );
}
