import { useMemo, useState } from "react";
import { Button } from "./button.tsx";
import { diffLines } from "./diff-lines.ts";
import { visible, visibleLine } from "./format.ts";
import { classNames } from "./layout.tsx";

/** Preformatted text in a scrolling box, with hidden characters escaped. */
export function Code({ text, className }: { text: string; className?: string }) {
  return (
    <pre
      // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
      tabIndex={0}
      className={classNames(
        "overflow-auto rounded bg-sunken px-2.5 py-2 text-xs leading-relaxed whitespace-pre-wrap break-words",
        className,
      )}
    >
      {visible(text)}
    </pre>
  );
}

export function Json({ value, className }: { value: unknown; className?: string }) {
  return <Code text={JSON.stringify(value, undefined, 2)} {...(className !== undefined && { className })} />;
}

const LOOKS = {
  same: ["", " "],
  out: ["bg-bad-wash text-bad", "−"],
  in: ["bg-good-wash text-good", "+"],
} as const;

/** Longer diffs are cut here; a button shows the rest. */
const MOST = 400;

/** A diff of one file, with hidden characters escaped. */
export function Diff({ path, before, after }: { path: string; before: string; after: string }) {
  const lines = useMemo(() => diffLines(before, after), [before, after]);
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? lines : lines.slice(0, MOST);
  return (
    <figure className="overflow-hidden rounded border border-line">
      <figcaption className="border-b border-line bg-sunken px-2.5 py-1 font-mono text-2xs whitespace-pre-wrap break-all text-ink-soft">
        {visibleLine(path)}
      </figcaption>
      <pre
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by keyboard
        tabIndex={0}
        className="max-h-96 overflow-auto py-1 text-xs leading-relaxed"
      >
        {shown.map(({ kind, text }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: lines have nothing but their place
          <div key={index} className={classNames("flex px-2.5", LOOKS[kind][0])}>
            <span aria-hidden="true" className="w-4 shrink-0 select-none">
              {LOOKS[kind][1]}
            </span>
            <span className="min-w-0 whitespace-pre-wrap break-words">{visible(text)}</span>
          </div>
        ))}
      </pre>
      {shown.length < lines.length && (
        <Button kind="quiet" className="w-full rounded-none" onClick={() => setWhole(true)}>
          Show {lines.length - shown.length} more lines
        </Button>
      )}
    </figure>
  );
}
