import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { keptCheckpoint, newerOf, trustFromNow } from "./compare.ts";
import { rootOf, sizeOf } from "./tree-path.ts";

const checkpoint = (size: number, logKey = "log") => ({ logKey, size, note: `${size}`, at: "2026-01-01" });

test("does not replace a newer checkpoint of another tab by an older one", () => {
  expect(newerOf(checkpoint(25), checkpoint(20))).toEqual(checkpoint(25));
  expect(newerOf(checkpoint(20), checkpoint(25))).toEqual(checkpoint(25));
});

test("ignores a kept checkpoint of another ledger", () => {
  expect(newerOf(checkpoint(25, "other"), checkpoint(20))).toEqual(checkpoint(20));
  expect(newerOf(undefined, checkpoint(20))).toEqual(checkpoint(20));
});

describe("the kept checkpoint", () => {
  const stored = new Map<string, string>();
  beforeEach(() => {
    stored.clear();
    vi.stubGlobal("localStorage", {
      getItem: (key: string) => stored.get(key) ?? null,
      setItem: (key: string, value: string) => stored.set(key, value),
    });
  });
  afterEach(() => vi.unstubAllGlobals());

  test("is absent before the first, and read back after it is trusted", () => {
    expect(keptCheckpoint()).toBeUndefined();
    trustFromNow(checkpoint(7));
    expect(keptCheckpoint()).toEqual(checkpoint(7));
  });

  test.each(["", "not JSON", "{}", '{"logKey":"log","size":"7","note":"7","at":"x"}'])(
    "is absent if %j is stored in its place",
    (text) => {
      stored.set("reins.checkpoint", text);
      expect(keptCheckpoint()).toBeUndefined();
    },
  );
});

test("a checkpoint note has its size on the second line and its root on the third", () => {
  const note = "reins/log\n42\ncm9vdA==\n\n— reins signature\n";
  expect(sizeOf(note)).toBe(42);
  expect(rootOf(note)).toBe("cm9vdA==");
  expect(rootOf("reins/log")).toBe("");
});
