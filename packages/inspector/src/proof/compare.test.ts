import { problem } from "@reins/api";
import { createElement } from "react";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { cached, renderedText } from "../../test/render.ts";
import { type Comparison, compareWithKept, keptCheckpoint, newerOf, trustFromNow } from "./compare.ts";
import { BrokenHistory, ComparisonLine } from "./comparison-view.tsx";
import { rootOf, sizeOf } from "./prove-entry.ts";
import type { VerifyJob, VerifyMessage, VerifyReport } from "./verify.ts";

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

describe("a comparison with the kept checkpoint", () => {
  const note = (size: number) => `reins/log\n${size}\nroot${size}\n\n— signature\n`;
  const kept = (size: number, logKey = "log") => ({ logKey, size, note: note(size), at: "2026-01-01" });
  const stored = new Map<string, string>();
  const verify = vi.fn<(job: VerifyJob) => VerifyReport>();
  /** What the server has: its key, its size, and the response to a request for a consistency proof. */
  let server: { logKey: string; size: number; proof: () => Response };

  class FakeWorker {
    onmessage: (event: { data: VerifyMessage }) => void = () => undefined;

    postMessage(job: VerifyJob): void {
      const report = verify(job);
      queueMicrotask(() => this.onmessage({ data: { kind: "done", report } }));
    }

    terminate(): void {}
  }

  const json = (value: unknown, status = 200) =>
    new Response(JSON.stringify(value), {
      status,
      headers: { "content-type": status === 200 ? "application/json" : "application/problem+json" },
    });
  const keep = (checkpoint: object) => stored.set("reins.checkpoint", JSON.stringify(checkpoint));
  const stands = () => keptCheckpoint()?.size;

  beforeEach(() => {
    stored.clear();
    verify.mockReset().mockReturnValue({ ok: true, faults: [] });
    server = {
      logKey: "log",
      size: 10,
      proof: () =>
        json({ log_key: "log", from: 7, to: 10, hashes: [], earlier: note(7), later: note(server.size) }),
    };
    vi.stubGlobal("localStorage", {
      getItem: (key: string) => stored.get(key) ?? null,
      setItem: (key: string, value: string) => stored.set(key, value),
    });
    vi.stubGlobal("window", { isSecureContext: true });
    vi.stubGlobal("Worker", FakeWorker);
    vi.stubGlobal("fetch", async (url: string) =>
      url.includes("consistency")
        ? server.proof()
        : json({
            origin: "reins/log",
            log_key: server.logKey,
            size: server.size,
            root: "r",
            note: note(server.size),
          }),
    );
  });
  afterEach(() => vi.unstubAllGlobals());

  test("is the first one, if its signature holds", async () => {
    await expect(compareWithKept()).resolves.toMatchObject({ kind: "first", now: { size: 10 } });
    expect(stands()).toBe(10);
    expect(verify.mock.calls[0]?.[0]).toMatchObject({
      kind: "consistency",
      claim: { logKey: "log", earlier: note(10), later: note(10) },
    });
  });

  test("keeps nothing of a first checkpoint that does not hold", async () => {
    verify.mockReturnValue({
      ok: false,
      faults: [{ code: "checkpoint_signature", message: "bad signature" }],
    });
    await expect(compareWithKept()).resolves.toMatchObject({ kind: "broken", why: "Bad signature." });
    expect(stands()).toBeUndefined();
  });

  test("extends the kept one, which is replaced by the newer one", async () => {
    keep(kept(7));
    const found = await compareWithKept();
    expect(found).toMatchObject({ kind: "extends", before: { size: 7 }, now: { size: 10 } });
    expect(stands()).toBe(10);
    expect(verify.mock.calls[0]?.[0]).toMatchObject({
      claim: { logKey: "log", earlier: note(7), later: note(10) },
    });
  });

  test("is broken by another key, and keeps the evidence", async () => {
    keep(kept(7, "another"));
    await expect(compareWithKept()).resolves.toMatchObject({
      kind: "broken",
      why: "It is signed with another key: log in place of another.",
    });
    expect(stands()).toBe(7);
    expect(verify).not.toHaveBeenCalled();
  });

  test("is broken by a ledger with fewer entries", async () => {
    keep(kept(12));
    await expect(compareWithKept()).resolves.toMatchObject({
      kind: "broken",
      why: "It had 12 entries and now shows 10: entries were removed.",
    });
    expect(stands()).toBe(12);
  });

  test("is broken by a proof that does not hold", async () => {
    keep(kept(7));
    verify.mockReturnValue({
      ok: false,
      faults: [{ code: "inclusion_invalid", message: "the roots differ" }],
    });
    await expect(compareWithKept()).resolves.toMatchObject({ kind: "broken", why: "The roots differ." });
    expect(stands()).toBe(7);
  });

  test("is broken if the server says that it has no proof, with its reason", async () => {
    keep(kept(7));
    server.proof = () => json(problem("conflict", "the tree is another one"), 409);
    await expect(compareWithKept()).resolves.toMatchObject({
      kind: "broken",
      why: "Conflict: the tree is another one",
    });
  });

  test("fails if the server cannot answer, and keeps the checkpoint", async () => {
    keep(kept(7));
    server.proof = () => json(problem("internal", "see the log"), 500);
    await expect(compareWithKept()).rejects.toThrow("Internal Server Error");
    expect(stands()).toBe(7);
  });

  test("needs a secure context", async () => {
    vi.stubGlobal("window", { isSecureContext: false });
    await expect(compareWithKept()).rejects.toThrow("signatures cannot be verified here");
  });

  test("is shown in a line above the ledger", () => {
    const line = (data: Comparison) =>
      renderedText(createElement(ComparisonLine), cached([["comparison"], data]));
    const now = kept(1_200);
    expect(line({ kind: "first", now })).toContain("First look at this ledger: 1,200 entries.");
    expect(line({ kind: "extends", before: kept(7), now })).toContain("1,200 entries that begin with the 7");
    expect(line({ kind: "broken", before: kept(7), now, why: "x" })).toBe(
      "The history differs from the kept checkpoint.",
    );
  });

  test("warns above every page only if the history is broken", () => {
    const bar = (data: Comparison) =>
      renderedText(createElement(BrokenHistory), cached([["comparison"], data]));
    const now = kept(3);
    expect(bar({ kind: "first", now })).toBe("");
    expect(bar({ kind: "broken", before: kept(7), now, why: "Entries were removed." })).toBe(
      "The ledger differs from the one that this browser verified before Entries were removed. What now?",
    );
  });
});
