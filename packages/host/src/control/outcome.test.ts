import { RpcError } from "@reins/acp";
import type { Approval, Decided, Harness } from "@reins/supervisor";
import { describe, expect, test, vi } from "vitest";
import { askedFor } from "./ask-clients.ts";
import type { ControlRequest } from "./control-point.ts";
import { awaitVerdict } from "./enforce.ts";
import { placed, REFUSED, refusal, verdictMeta } from "./outcome.ts";

const base = { reason: "rule", rule: "r", enforcement: "asked" } as const;
const ALLOWED: Decided = { ...base, verdict: "allowed", entry: "cid" };
const BLOCKED: Decided = { ...base, verdict: "blocked", entry: undefined };
const ASK: Decided = { ...base, verdict: "ask", approval: "a", entry: undefined };
const DEFER: Decided = { ...base, verdict: "defer", retry_after_ms: 1, entry: undefined };

const request = { event: {}, subject: { tenant: "t" }, requestContext: {} } as ControlRequest;

/** A supervisor with these verdicts in a row, and an approval that ends in a state, at once or when `answer` is called. */
function deciders(verdicts: readonly Decided[], { state = "pending" }: { state?: string } = {}) {
  const left = [...verdicts];
  const listeners = new Set<(change: { approval: Partial<Approval> }) => void>();
  const decide = vi.fn(async () => left.shift() ?? ALLOWED);
  const harness = {
    supervisor: { decide },
    approvals: {
      get: async (id: string) => ({ id, state }),
      subscribe: (listener: (change: { approval: Partial<Approval> }) => void) => {
        listeners.add(listener);
        return () => listeners.delete(listener);
      },
    },
  } as unknown as Harness;
  const answer = (as: string, id = "a") => {
    for (const listener of listeners) listener({ approval: { id, state: as as Approval["state"] } });
  };
  return { harness, decide, answer, listeners };
}

describe("a verdict", () => {
  test.each([
    ["allowed", ALLOWED],
    ["blocked", BLOCKED],
  ])("that is %s is final", async (_, verdict) => {
    const { harness, decide } = deciders([verdict]);
    const { signal } = new AbortController();
    expect(await awaitVerdict(harness, request, { signal }, async () => undefined)).toBe(verdict);
    expect(decide).toHaveBeenCalledTimes(1);
  });

  test("that is deferred is asked for again", async () => {
    const { harness, decide } = deciders([DEFER, DEFER, BLOCKED]);
    const { signal } = new AbortController();
    expect(await awaitVerdict(harness, request, { signal }, async () => undefined)).toBe(BLOCKED);
    expect(decide).toHaveBeenCalledTimes(3);
  });

  test("that people have to give is decided again after their answer, wherever it came from", async () => {
    const { harness, decide, answer, listeners } = deciders([ASK, ALLOWED]);
    const { signal } = new AbortController();
    let withdrawn: AbortSignal | undefined;
    const waiting = awaitVerdict(harness, request, { signal }, async (_, offered) => {
      withdrawn = offered;
      expect(askedFor(signal)).toEqual({ times: 1, isOpen: true });
      answer("allowed", "another");
      setImmediate(() => answer("allowed"));
      await new Promise(() => undefined);
    });
    expect(await waiting).toBe(ALLOWED);
    expect(decide).toHaveBeenCalledTimes(2);
    expect(askedFor(signal)).toEqual({ times: 1, isOpen: false });
    expect(withdrawn?.aborted).toBe(true);
    expect(listeners.size).toBe(0);
  });

  test.each([
    ["expired", "rule; no answer came in time"],
    ["withdrawn", "rule; the question was withdrawn"],
  ])("that nothing answers is blocked: %s", async (state, reason) => {
    const { harness } = deciders([ASK], { state });
    const { signal } = new AbortController();
    const offer = () => expect.fail("it is over already");
    expect(await awaitVerdict(harness, request, { signal }, offer)).toMatchObject({
      verdict: "blocked",
      reason,
    });
  });

  test("is not waited for any longer than the caller waits", async () => {
    const { harness, decide, listeners } = deciders([ASK]);
    const controller = new AbortController();
    const offer = async () => {
      controller.abort(new Error("cancelled"));
      return undefined;
    };
    await expect(awaitVerdict(harness, request, controller, offer)).rejects.toThrow("cancelled");
    expect(listeners.size).toBe(0);
    await expect(awaitVerdict(harness, request, controller, offer)).rejects.toThrow("cancelled");
    expect(decide).toHaveBeenCalledTimes(1);
  });

  test("is waited for although clients cannot be asked", async () => {
    const { harness, answer } = deciders([ASK, ALLOWED]);
    const { signal } = new AbortController();
    const waiting = awaitVerdict(harness, request, { signal }, () => Promise.reject(new Error("no client")));
    setTimeout(() => answer("allowed"), 5);
    expect(await waiting).toBe(ALLOWED);
  });
});

describe("a verdict on the wire", () => {
  test("has its members under _meta.reins, and none that it does not have", () => {
    const { reins } = verdictMeta({ ...ALLOWED, approval: "a" });
    expect(reins).toEqual({
      verdict: "allowed",
      reason: "rule",
      enforcement: "asked",
      rule: "r",
      entry: "cid",
      approval: "a",
    });
    expect(Object.keys(verdictMeta({ ...BLOCKED, rule: undefined }).reins)).toEqual([
      "verdict",
      "reason",
      "enforcement",
    ]);
  });

  test("has its entry once that is written", async () => {
    expect(await placed({ ...BLOCKED, written: Promise.resolve("later") })).toMatchObject({ entry: "later" });
    expect(await placed(ALLOWED)).toMatchObject({ entry: "cid" });
  });

  test("that refuses a request is an error with the reason", async () => {
    const error = await refusal("session/new", { ...BLOCKED, written: Promise.resolve("later") });
    expect(error).toBeInstanceOf(RpcError);
    expect(error).toMatchObject({
      code: REFUSED,
      message: "session/new was not allowed: rule",
      data: { reins: { verdict: "blocked", entry: "later" } },
    });
  });
});
