import { CliError } from "../../../errors/cli-error.ts";

const SPAN = /^(?<count>\d{1,6})(?<unit>[smhd])$/;
const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(?<zone>Z|[+-]\d\d:\d\d)?)?$/;
const MILLISECONDS = new Map([
  ["s", 1_000],
  ["m", 60_000],
  ["h", 3_600_000],
  ["d", 86_400_000],
]);

/** A moment as it was written in a flag: a time, in UTC unless it says otherwise, or how long ago. */
export function readMoment(text: string, flag: string, now: Date): string {
  const { count, unit } = SPAN.exec(text)?.groups ?? {};
  if (count !== undefined && unit !== undefined)
    return new Date(now.getTime() - Number(count) * (MILLISECONDS.get(unit) ?? 0)).toISOString();
  const written = TIME.exec(text);
  const zoned = written && text.includes("T") && written.groups?.zone === undefined ? `${text}Z` : text;
  const time = new Date(zoned);
  if (written && !Number.isNaN(time.getTime())) return time.toISOString();
  throw new CliError(`${flag} is "${text}".`, {
    next: "Give a time in UTC, such as 2026-11-15 or 2026-11-15T05:20:00Z, or how long ago: 90s, 15m, 2h, 3d.",
  });
}
