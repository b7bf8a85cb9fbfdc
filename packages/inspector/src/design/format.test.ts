import { expect, it } from "vitest";
import { about, bytes, count, dollars, duration, formatValue } from "./format.ts";

it("formats counts, money, bytes and durations", () => {
  expect([count(1_234_567), about(1_234)]).toEqual(["1,234,567", "1.2K"]);
  expect([bytes(0), bytes(900), bytes(1_536), bytes(250 * 1024 * 1024)]).toEqual([
    "0 B",
    "900 B",
    "1.5 KB",
    "250 MB",
  ]);
  expect([dollars(0), dollars(0.00123), dollars(12.5)]).toEqual(["$0.00", "$0.0012", "$12.50"]);
  expect([0.042, 42, 4_200, 90_000, 7_200_000].map(duration)).toEqual([
    "0.04 ms",
    "42 ms",
    "4.2 s",
    "1.5 min",
    "2.0 h",
  ]);
});

it("formats values of a constitution on one line", () => {
  expect(formatValue({ any: { destroys: true, place: ["home", "system"] } })).toBe(
    "any destroys yes, place home or system",
  );
  expect(formatValue(["read_file", "search"])).toBe("read_file or search");
  expect(formatValue(undefined)).toBe("");
});
