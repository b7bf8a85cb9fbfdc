import fc from "fast-check";
import { expect, it } from "vitest";
import { isTimestamp } from "./entry.ts";

it("is what a date writes", () => {
  const dates = fc.date({
    min: new Date("0000-01-01T00:00:00Z"),
    max: new Date("9999-12-31T23:59:59.999Z"),
    noInvalidDate: true,
  });
  fc.assert(fc.property(dates, (date) => isTimestamp(date.toISOString())));
});

it.each([
  "2026-11-15T05:20:00Z",
  "2026-11-15T05:20:00.0000Z",
  "2026-11-15t05:20:00.000z",
  "2026-11-15 05:20:00.000Z",
  "2026-11-15T05:20:00.000+00:00",
  "2026-02-29T05:20:00.000Z",
  "1900-02-29T05:20:00.000Z",
  "2026-13-01T05:20:00.000Z",
  "2026-00-01T05:20:00.000Z",
  "2026-11-31T05:20:00.000Z",
  "2026-11-00T05:20:00.000Z",
  "2026-11-15T24:00:00.000Z",
  "2026-11-15T05:60:00.000Z",
  "2026-11-15T05:20:60.000Z",
  "2026-11-15T05:20:00.000Z\n",
  "+02026-11-15T05:20:00.000Z",
  1_789_000_000_000,
  null,
])("is not %j", (value) => {
  expect(isTimestamp(value)).toBe(false);
});
