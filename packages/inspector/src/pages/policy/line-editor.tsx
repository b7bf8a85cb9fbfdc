import { useRef } from "react";
import { classNames } from "../../design/class-names.ts";

/** A text with numbered lines, and marks at lines that something is wrong with. */
export function LineEditor({
  label,
  text,
  marks,
  onChange,
}: {
  label: string;
  text: string;
  marks: readonly { readonly line: number | null; readonly message: string }[];
  onChange: (text: string) => void;
}) {
  const gutter = useRef<HTMLDivElement>(null);
  const said = new Map(
    marks.flatMap(({ line, message }) => (line === null ? [] : [[line, message] as const])),
  );
  const lines = text.split("\n").length;
  return (
    <div className="flex h-[60vh] min-h-72 overflow-hidden rounded border border-line-strong bg-surface font-mono text-xs leading-5">
      <div
        ref={gutter}
        aria-hidden="true"
        className="shrink-0 overflow-hidden border-r border-line bg-sunken py-1.5 text-right text-ink-faint select-none"
      >
        {Array.from({ length: lines }, (_, place) => place + 1).map((line) => (
          <div
            key={line}
            title={said.get(line)}
            className={classNames("h-5 px-2", said.has(line) && "bg-bad-wash font-semibold text-bad")}
          >
            {line}
          </div>
        ))}
        <div className="h-8" />
      </div>
      <textarea
        aria-label={label}
        aria-invalid={said.size > 0}
        spellCheck={false}
        autoCapitalize="off"
        autoCorrect="off"
        wrap="off"
        value={text}
        onChange={({ target }) => onChange(target.value)}
        onScroll={({ currentTarget }) => {
          if (gutter.current) gutter.current.scrollTop = currentTarget.scrollTop;
        }}
        className="min-w-0 flex-1 resize-none overflow-auto bg-transparent px-2 py-1.5 whitespace-pre outline-offset-[-2px]"
      />
    </div>
  );
}
