import { useEffect, useState } from "react";

const UNITS = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
  ["s", 1],
] as const;

/** Formats a duration in its largest unit: 3 min, 2 h. */
export function formatAge(milliseconds: number): string {
  const seconds = Math.max(0, Math.round(milliseconds / 1_000));
  const [name, size] = UNITS.find(([, unit]) => seconds >= unit) ?? ["s", 1];
  return `${Math.floor(seconds / size)} ${name}`;
}

/** A time relative to now, kept up to date. */
export function Moment({ at }: { at: string }) {
  const now = useNow(1_000);
  const distance = new Date(at).getTime() - now;
  const text = distance > 0 ? `in ${formatAge(distance)}` : `${formatAge(-distance)} ago`;
  return (
    <time dateTime={at} title={new Date(at).toLocaleString()} className="whitespace-nowrap tabular-nums">
      {text}
    </time>
  );
}

/** The current time, updated at an interval. */
export function useNow(every: number): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}
