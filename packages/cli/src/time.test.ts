import { describe, expect, it } from "vitest";
import { readDuration, readFutureTime, readPastTime, shortDuration } from "./time.ts";

describe("a duration", () => {
  it("is formatted in its largest whole unit", () => {
    expect([-5, 0, 59_999, 60_000, 3_599_999, 7_200_000, 86_400_000 * 30].map(shortDuration)).toEqual([
      "0s",
      "0s",
      "59s",
      "1m",
      "59m",
      "2h",
      "30d",
    ]);
  });

  it("is parsed from a flag", () => {
    expect(readDuration("90s", "--for")).toBe(90_000);
    expect(readDuration("7d", "--for")).toBe(604_800_000);
    for (const text of ["", "0h", "1", "h", "-1h", "1w", "1.5h"])
      expect(() => readDuration(text, "--for")).toThrow(`--for is "${text}".`);
  });
});

describe("a future time", () => {
  const now = new Date("2026-11-15T05:20:00Z");

  it("is a duration from now, or a time", () => {
    expect(readFutureTime("12h", "--expires", now)).toBe("2026-11-15T17:20:00.000Z");
    expect(readFutureTime("2027-01-01", "--expires", now)).toBe("2027-01-01T00:00:00.000Z");
    expect(readFutureTime("2027-01-01T10:00", "--expires", now)).toBe("2027-01-01T10:00:00.000Z");
    expect(readFutureTime("2027-01-01T10:00:00+02:00", "--expires", now)).toBe("2027-01-01T08:00:00.000Z");
  });

  it.each(["tomorrow", "2027", "2027-13-01", "1"])("rejects %s", (text) => {
    expect(() => readFutureTime(text, "--expires", now)).toThrow(`--expires is "${text}".`);
  });
});

const now = new Date("2026-11-15T12:00:00.000Z");
const read = (text: string) => readPastTime(text, "--since", now);

describe("a past time", () => {
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
