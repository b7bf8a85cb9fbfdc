import { expect, test } from "vitest";
import { newerOf } from "./compare.ts";

const checkpoint = (size: number, logKey = "log") => ({ logKey, size, note: `${size}`, at: "2026-01-01" });

test("a tab that was slow does not put an older checkpoint in place of what another tab saw", () => {
  expect(newerOf(checkpoint(25), checkpoint(20))).toEqual(checkpoint(25));
  expect(newerOf(checkpoint(20), checkpoint(25))).toEqual(checkpoint(25));
});

test("what is kept of another ledger does not count", () => {
  expect(newerOf(checkpoint(25, "other"), checkpoint(20))).toEqual(checkpoint(20));
  expect(newerOf(undefined, checkpoint(20))).toEqual(checkpoint(20));
});
