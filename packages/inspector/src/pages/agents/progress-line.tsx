import { ProgressBar } from "../../design/progress-bar.tsx";

/** How far something is, in a word and as a bar. */
export function ProgressLine({ text, done, total }: { text: string; done?: number; total?: number }) {
  return (
    <div className="flex min-w-48 flex-1 flex-col gap-1.5 text-sm">
      <span role="status" className="tabular-nums">
        {text}
      </span>
      {total !== undefined && total > 0 && <ProgressBar label={text} part={(done ?? 0) / total} />}
    </div>
  );
}
