import { describe, expect, it } from "vitest";
import { readMoment } from "./moment.ts";

const now = new Date("2026-11-15T12:00:00.000Z");
const read = (text: string) => readMoment(text, "--since", now);

describe("a moment", () => {
  it.each([
    ["90s", "2026-11-15T11:58:30.000Z"],
    ["15m", "2026-11-15T11:45:00.000Z"],
    ["2h", "2026-11-15T10:00:00.000Z"],
    ["3d", "2026-11-12T12:00:00.000Z"],
    ["2026-11-15", "2026-11-15T00:00:00.000Z"],
    ["2026-11-15T05:20", "2026-11-15T05:20:00.000Z"],
    ["2026-11-15T05:20:01.5Z", "2026-11-15T05:20:01.500Z"],
    ["2026-11-15T05:20:00+02:00", "2026-11-15T03:20:00.000Z"],
  ])("%s is %s", (text, expected) => {
    expect(read(text)).toBe(expected);
  });

  it.each(["", "yesterday", "2026", "2026-13-01", "2026-11-15T99:00", "-5m", "5w", "2026-11-15 05:20"])(
    "is not %j",
    (text) => {
      expect(() => read(text)).toThrow(`--since is "${text}".`);
    },
  );
});
