/** How far something is, in a word and as a bar. */
export function ProgressLine({ text, done, total }: { text: string; done?: number; total?: number }) {
  return (
    <div role="status" className="flex min-w-48 flex-1 flex-col gap-1 text-sm">
      <span className="tabular-nums">{text}</span>
      {total !== undefined && total > 0 && (
        <progress aria-label={text} className="h-1.5 w-full accent-accent" value={(done ?? 0) / total} />
      )}
    </div>
  );
}
