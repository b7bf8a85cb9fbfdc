import type { JsonValue } from "../json/value.ts";

const FORM = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/;
const MONTHS = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Whether a value is a time in UTC with milliseconds, written as `2026-11-15T05:20:00.000Z`, that exists. */
export function isTimestamp(value: JsonValue): boolean {
  if (typeof value !== "string" || !FORM.test(value)) return false;
  const [year, month, day] = [digits(value, 0, 4), digits(value, 5, 7), digits(value, 8, 10)];
  if (day < 1 || day > daysIn(year, month)) return false;
  return digits(value, 11, 13) < 24 && digits(value, 14, 16) < 60 && digits(value, 17, 19) < 60;
}

function daysIn(year: number, month: number): number {
  const leap = month === 2 && year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
  return (MONTHS[month - 1] ?? 0) + (leap ? 1 : 0);
}

function digits(text: string, start: number, end: number): number {
  let value = 0;
  for (let index = start; index < end; index += 1) value = value * 10 + text.charCodeAt(index) - 0x30;
  return value;
}
