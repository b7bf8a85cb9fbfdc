import type { Approval } from "@reins/api";
import { CliError } from "./errors.ts";

const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
] as const;
const DURATION = /^(?<count>\d{1,6})(?<unit>[smhd])$/;

/** In the largest whole unit: 45s, 12m, 3h, 2d. */
export function shortDuration(milliseconds: number): string {
  const [unit, size] = UNITS.find(([, each]) => milliseconds >= each) ?? ["s", 1_000];
  return `${Math.max(0, Math.floor(milliseconds / size))}${unit}`;
}

export function readDuration(text: string, flag: string): number {
  const milliseconds = parseDuration(text);
  if (milliseconds !== undefined) return milliseconds;
  throw new CliError(`${flag} is "${text}".`, { next: "Give a length of time: 90s, 15m, 2h, 30d." });
}

/** Reads a duration from now, or a time, in UTC by default. */
export function readFutureTime(text: string, flag: string, now = new Date()): string {
  const span = parseDuration(text);
  if (span !== undefined) return new Date(now.getTime() + span).toISOString();
  const zoned = /T\d\d:\d\d[\d:.]*$/.test(text) ? `${text}Z` : text;
  const time = new Date(/^\d{4}-\d\d-\d\d(T|$)/.test(text) ? zoned : Number.NaN);
  if (!Number.isNaN(time.getTime())) return time.toISOString();
  throw new CliError(`${flag} is "${text}".`, {
    next: "Give a length of time from now, such as 12h or 30d, or a time in UTC, such as 2026-11-15T05:20:00Z.",
  });
}

function parseDuration(text: string): number | undefined {
  const { count, unit } = DURATION.exec(text)?.groups ?? {};
  const size = UNITS.find(([name]) => name === unit)?.[1];
  return count === undefined || size === undefined || Number(count) === 0 ? undefined : Number(count) * size;
}

const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,3})?)?(?<zone>Z|[+-]\d\d:\d\d)?)?$/;

/** Reads a time, in UTC by default, or a duration before now. */
export function readPastTime(text: string, flag: string, now = new Date()): string {
  const span = /^0+[smhd]$/.test(text) ? 0 : parseDuration(text);
  if (span !== undefined) return new Date(now.getTime() - span).toISOString();
  const written = TIME.exec(text);
  const zoned = written && text.includes("T") && written.groups?.zone === undefined ? `${text}Z` : text;
  const time = new Date(zoned);
  if (written && !Number.isNaN(time.getTime())) return time.toISOString();
  throw new CliError(`${flag} is "${text}".`, {
    next: "Give a time in UTC, such as 2026-11-15 or 2026-11-15T05:20:00Z, or how long ago: 90s, 15m, 2h, 3d.",
  });
}

/** To the second, in UTC. */
export function formatTime(time: string): string {
  return time.replace("T", " ").replace(/\.\d+Z$/, "Z");
}

export function ago(time: string, now: Date): string {
  return `${shortDuration(now.getTime() - Date.parse(time))} ago`;
}

export function timeLeft({ expires_at }: Pick<Approval, "expires_at">, now: Date): string {
  const milliseconds = Date.parse(expires_at) - now.getTime();
  return milliseconds > 0 ? `${shortDuration(milliseconds)} left` : "over";
}
