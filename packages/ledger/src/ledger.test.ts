import { generateKeyPairSync } from "node:crypto";
import { ManualClock, settled } from "@reins/kit/manual-clock";
import type { Store } from "@reins/store";
import { describe, expect, test } from "vitest";
import type { Draft, PreparedEntry } from "./entry.ts";
import { Ledger } from "./ledger.ts";

const draft: Draft = { quality: "tool_call", actor: "reed", target: "ls", payload: {} };

function signerOf(keyId: string) {
  const { publicKey, privateKey } = generateKeyPairSync("ed25519");
  const raw = Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url");
  return { keyId, publicKey: raw, privateKey };
}

/** What becomes an entry, and the entry that announces a key. */
type Recorded = PreparedEntry & { readonly entry?: PreparedEntry };

/** A ledger over a store that notes the changes of each commit and may be held up. */
async function opened() {
  const clock = new ManualClock();
  const commits: string[][] = [];
  const durables: (boolean | undefined)[] = [];
  let gate: Promise<void> | undefined;
  const store = {
    query: async () => undefined,
    commit: async (changes: { name: string; args: Recorded }[], options?: { durable?: boolean }) => {
      await gate;
      commits.push(changes.map(({ name, args }) => args.quality ?? args.entry?.quality ?? name));
      durables.push(options?.durable);
      return changes.map((_, index) => ({ cid: `cid ${index}`, parents: [] }));
    },
  };
  const signers = new Map<string, ReturnType<typeof signerOf>>();
  const signer = async (holder: string) => {
    const known = signers.get(holder) ?? signerOf(`key of ${holder}`);
    signers.set(holder, known);
    return known;
  };
  const rotations: string[] = [];
  const ledger = await Ledger.open({
    store: store as unknown as Store,
    clock,
    newOrigin: () => "reins/test",
    signers: {
      signer,
      logSigner: () => signer("log"),
      retired: async () => [],
      rotate: async (holder) => {
        if (holder === "broken") throw new Error("no key");
        rotations.push(`${holder} after ${commits.length}`);
        return { retiredKeyId: "unknown" };
      },
    },
  });
  commits.length = 0;
  durables.length = 0;
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    gate = promise;
    return () => {
      gate = undefined;
      resolve();
    };
  };
  return { ledger, clock, commits, durables, rotations, hold };
}

describe("recording", () => {
  test("is one commit of the entries and the changes that belong to them, durable by default", async () => {
    const { ledger, commits, durables } = await opened();
    const use = { tables: "limits", name: "keep", args: {} };
    const { entries, results } = await ledger.record([draft, draft], { with: [use] });
    await ledger.record([draft], { durable: false });
    expect(commits).toEqual([["tool_call", "tool_call", "keep"], ["tool_call"]]);
    expect(durables).toEqual([true, false]);
    expect([entries.length, results.length]).toEqual([2, 1]);
  });

  test("fixes its position before it is written", async () => {
    const { ledger, commits, hold } = await opened();
    const release = hold();
    let isPlaced = false;
    const recording = ledger.record([draft], {
      onPlaced: () => {
        isPlaced = true;
      },
    });
    await settled();
    expect([isPlaced, commits.length]).toEqual([true, 0]);
    release();
    await recording;
  });

  test("announces the key of an actor before it signs the actor's first entry", async () => {
    const { ledger, commits } = await opened();
    await ledger.record([{ ...draft, quality: "turn" }]);
    await ledger.record([{ ...draft, quality: "turn" }]);
    expect(commits).toEqual([["policy_change"], ["turn"], ["turn"]]);
  });

  test.each([
    ["no session", { entity_id: "" }],
    ["no actor", { actor: "" }],
    ["a lone surrogate", { target: "\ud800" }],
    ["no plain payload", { payload: { a: () => 1 } }],
    ["an unknown quality", { quality: "nonsense" as never }],
    ["results without rules", { rules_checked: ["a"], predicate_results: [] }],
    ["private content without a place for it", { isPrivate: () => true }],
  ])("rejects a draft with %s, and writes nothing", async (_, own) => {
    const { ledger, commits } = await opened();
    await expect(ledger.record([draft, { ...draft, ...own }])).rejects.toMatchObject({ code: "invalid" });
    expect(commits).toEqual([]);
  });

  test("notifies subscribers of the number of entries, until they unsubscribe", async () => {
    const { ledger } = await opened();
    const counts: number[] = [];
    const unsubscribe = ledger.subscribe((entries) => counts.push(entries));
    await ledger.record([draft, draft]);
    await ledger.record([], {});
    unsubscribe();
    await ledger.record([draft]);
    expect(counts).toEqual([2]);
  });
});

describe("the rotation of a key", () => {
  test("waits for records in progress, and later ones wait for it", async () => {
    const { ledger, commits, rotations, hold } = await opened();
    const release = hold();
    const first = ledger.record([draft]);
    const rotating = [ledger.rotateKey("reed"), ledger.rotateKey("ann")];
    const later = ledger.record([draft, draft]);
    await settled();
    expect([commits.length, rotations.length]).toEqual([0, 0]);
    release();
    await Promise.all([first, ...rotating, later]);
    expect(rotations[0]).toBe("reed after 1");
    expect(rotations).toHaveLength(2);
    expect(commits.map(({ length }) => length)).toEqual([1, 2]);
  });

  test("releases those that wait also when it fails", async () => {
    const { ledger } = await opened();
    const failing = ledger.rotateKey("broken");
    const next = ledger.record([draft]);
    await expect(failing).rejects.toThrow("no key");
    await expect(next).resolves.toMatchObject({ entries: [{ cid: "cid 0" }] });
  });
});

describe("a checkpoint", () => {
  test("is made once, shortly after many entries", async () => {
    const { ledger, clock, commits } = await opened();
    await clock.advanceAndSettle(100);
    commits.length = 0;
    for (let count = 0; count < 5; count += 1) await ledger.record([draft]);
    await clock.advanceAndSettle(49);
    expect(commits.flat()).not.toContain("checkpoint");
    await clock.advanceAndSettle(1);
    expect(commits.flat().filter((name) => name === "checkpoint")).toHaveLength(1);
  });

  test("is made at once when the ledger is closed", async () => {
    const { ledger, commits } = await opened();
    await ledger.record([draft]);
    await ledger.close();
    expect(commits.at(-1)).toEqual(["checkpoint"]);
  });
});
