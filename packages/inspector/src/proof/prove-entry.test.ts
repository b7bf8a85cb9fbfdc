import type { FaultCode } from "@reins/verify";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { proveEntry } from "./prove-entry.ts";
import type { VerifyJob, VerifyMessage, VerifyReport } from "./verify.ts";

/** Reports of the verifier by job; the worker that runs it in a browser is replaced. */
const verify = vi.fn<(job: VerifyJob) => VerifyReport>();

class FakeWorker {
  onmessage: (event: { data: VerifyMessage }) => void = () => undefined;

  postMessage(job: VerifyJob): void {
    const report = verify(job);
    queueMicrotask(() => this.onmessage({ data: { kind: "done", report } }));
  }

  terminate(): void {}
}

const note = (size: number) => `reins/log\n${size}\nroot${size}\n\n— signature\n`;
const hash = (name: string) => name.repeat(64);
const [A, B, C] = [hash("a"), hash("b"), hash("c")];
const entry = (cid: string, more: object = {}) => ({
  cid,
  entity_id: "native:acp:1",
  target: "read_file",
  quality: "policy_verdict",
  timestamp: "2026-11-15T05:20:00.000Z",
  source: "native:acp:1",
  actor: "native",
  parents: [],
  tags: [],
  payload: {},
  proof: null,
  envelope: null,
  ...more,
});
const good: VerifyReport = { ok: true, faults: [] };
const bad = (code: FaultCode): VerifyReport => ({ ok: false, faults: [{ code, message: `${code} found` }] });

/** What the server has: proofs by content id, and the size of its ledger. */
let proofs: Map<string, object>;
let sizes: number[];
const proofOf = (index: number, size: number, given: object) => ({
  format: "reins-proof/1",
  index,
  hashes: [hash("d"), hash("e")],
  checkpoint: note(size),
  log_key: "log-key",
  entry: given,
  key: null,
});

beforeEach(() => {
  proofs = new Map();
  sizes = [];
  const kept = new Map<string, string>();
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => kept.set(key, value),
  });
  vi.stubGlobal("fetch", async (address: string) => {
    const cid = /entries\/([^/]+)\/proof/.exec(address)?.[1];
    if (cid !== undefined) return Response.json(proofs.get(cid));
    const to = sizes.shift() ?? 0;
    return Response.json({ from: 1, to, hashes: [], earlier: note(1), later: note(to), log_key: "log-key" });
  });
  vi.stubGlobal("window", { isSecureContext: true });
  vi.stubGlobal("Worker", FakeWorker);
  verify.mockReset().mockReturnValue(good);
});
afterEach(() => vi.unstubAllGlobals());

const states = async (cid: string) =>
  (await proveEntry(cid)).steps.map(({ title, state }) => `${state}: ${title}`);
const keep = (size: number) =>
  localStorage.setItem(
    "reins.checkpoint",
    JSON.stringify({ logKey: "log-key", size, note: note(size), at: "2026-01-01" }),
  );

describe("the proof of an entry", () => {
  test("holds step by step, and leaves open what nothing can show", async () => {
    proofs.set(A, proofOf(3, 8, entry(A)));
    expect(await states(A)).toEqual([
      "holds: The entry matches its content id",
      "holds: It is in the tree",
      "holds: The tree is signed",
      "open: It has no signature of its own",
      "open: It is consistent with this browser's checkpoint",
    ]);
  });

  test("fails if the server returns another entry", async () => {
    proofs.set(A, proofOf(3, 8, entry(B)));
    const { steps } = await proveEntry(A);
    expect(steps[0]).toMatchObject({ state: "fails", detail: `The server returned the entry ${B}.` });
  });

  test.each([
    ["cid_mismatch", "The entry matches its content id"],
    ["inclusion_invalid", "It is in the tree"],
    ["checkpoint_signature", "The tree is signed"],
    ["log_key_mismatch", "The tree is signed"],
    ["signature_invalid", "It is signed by its actor"],
    ["key_retired", "It is signed by its actor"],
  ] as const)("assigns the fault %s to one step only", async (code, title) => {
    proofs.set(A, proofOf(3, 8, entry(A, { proof: { key: "k" } })));
    verify.mockReturnValue(bad(code));
    const { steps } = await proveEntry(A);
    const failed = steps.filter(({ state }) => state === "fails");
    expect(failed.map((step) => [step.title, step.detail])).toEqual([[title, `${code} found`]]);
  });

  test("is checked with the key that this browser keeps", async () => {
    keep(8);
    sizes = [8];
    proofs.set(A, proofOf(3, 8, entry(A)));
    await proveEntry(A);
    expect(verify.mock.calls[0]?.[0]).toMatchObject({ kind: "proof", logKey: "log-key" });
  });
});

describe("the parent of an entry", () => {
  test.each([
    ["earlier in the same session", 2, {}, "holds"],
    ["later", 5, {}, "fails"],
    ["of another session", 2, { entity_id: "other" }, "fails"],
    ["another entry than the named one", 2, { cid: C }, "fails"],
  ])("that is %s", async (_, index, more, state) => {
    proofs.set(A, proofOf(3, 8, entry(A, { parents: [B] })));
    proofs.set(B, proofOf(index, 8, entry(B, more)));
    expect(await states(A)).toContain(`${state}: Its parent precedes it`);
  });

  test("must be in the ledger itself", async () => {
    proofs.set(A, proofOf(3, 8, entry(A, { parents: [B] })));
    proofs.set(B, proofOf(2, 8, entry(B)));
    verify.mockReturnValueOnce(good).mockReturnValueOnce(bad("inclusion_invalid"));
    const { steps } = await proveEntry(A);
    expect(steps.find(({ title }) => title === "Its parent precedes it")).toMatchObject({
      state: "fails",
      detail: "inclusion_invalid found",
    });
  });
});

describe("the history of an entry", () => {
  const historyOf = async (cid: string) => (await proveEntry(cid)).steps.at(-1);

  test("is consistent with the kept checkpoint", async () => {
    keep(5);
    sizes = [8];
    proofs.set(A, proofOf(3, 8, entry(A)));
    expect(await historyOf(A)).toMatchObject({
      state: "holds",
      detail: "The 8 entries of the checkpoint extend the 5 that this browser verified.",
    });
  });

  test("fails if the checkpoints do not fit together", async () => {
    keep(5);
    sizes = [8];
    proofs.set(A, proofOf(3, 8, entry(A)));
    verify.mockReturnValueOnce(good).mockReturnValueOnce(bad("seen_forked"));
    expect(await historyOf(A)).toMatchObject({ state: "fails", detail: "seen_forked found" });
  });

  test("is fetched again while the ledger grows, and stays open if it grows too fast", async () => {
    keep(5);
    proofs.set(A, proofOf(3, 8, entry(A)));
    sizes = [9, 10, 8];
    expect(await historyOf(A)).toMatchObject({ state: "holds" });
    sizes = [9, 10, 11, 12, 13, 8];
    expect(await historyOf(A)).toMatchObject({ state: "open" });
  });
});
