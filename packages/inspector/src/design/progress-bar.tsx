/** How much of something is done, as a bar beside the words that say the same. Without a number it only says that something goes on. */
export function ProgressBar({ label, part }: { label: string; part: number | undefined }) {
  const percent = part === undefined ? undefined : Math.round(100 * Math.min(1, Math.max(0, part)));
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuenow={percent}
      className="h-1 w-full overflow-hidden rounded-full bg-sunken"
    >
      <div
        className={`h-full rounded-full bg-accent motion-safe:transition-[width] ${percent === undefined ? "motion-safe:animate-pulse" : ""}`}
        style={{ width: `${percent ?? 100}%` }}
      />
    </div>
  );
}
