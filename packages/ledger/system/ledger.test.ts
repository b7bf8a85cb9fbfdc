import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSqlite, type Store } from "@reins/store";
import { describe, expect, onTestFinished, test } from "vitest";
import { openCheckpoint } from "../src/checkpoint/note.ts";
import type { Draft } from "../src/entry/draft.ts";
import { buildEntry } from "../src/entry/entry-builder.ts";
import { KeyFolder } from "../src/keys/key-folder.ts";
import { KeyRing } from "../src/keys/key-ring.ts";
import { verifySignature } from "../src/keys/signer.ts";
import { Ledger } from "../src/ledger.ts";
import { ledgerTables } from "../src/tables/tables.ts";
import { exportLines } from "../src/transfer/export.ts";
import { importLines } from "../src/transfer/import.ts";
import { proveEntry } from "../src/transfer/proof-file.ts";

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "ledger-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** A ledger on disk, which may be opened again and again. */
async function open(home: string): Promise<{ ledger: Ledger; store: Store; keys: KeyFolder }> {
  const store = await openSqlite({ path: join(home, "reins.db"), tables: [ledgerTables] });
  onTestFinished(() => store.close());
  const keys = new KeyFolder(join(home, "keys"));
  const signers = new KeyRing(keys);
  const ledger = await Ledger.open({ store, signers, newOrigin: () => "reins/test" });
  return { ledger, store, keys };
}

const turn = (entity_id: string, n = 0): Draft => ({
  quality: "turn",
  actor: "reed",
  target: entity_id,
  entity_id,
  payload: { n },
});
const call = (entity_id: string, n = 0): Draft => ({
  quality: "tool_call",
  actor: "reed",
  target: "bash",
  entity_id,
  payload: { n },
});

async function collect(lines: AsyncIterable<string>): Promise<string[]> {
  return Array.fromAsync(lines);
}

async function* from(lines: readonly string[]): AsyncGenerator<string> {
  yield* lines;
}

describe("a chain", () => {
  test("links a turn to the turn before it and anything else to the entry before it, in its session", async () => {
    const { ledger } = await open(await folder());
    const { entries } = await ledger.record([
      turn("one"),
      call("one"),
      turn("two"),
      turn("one"),
      call("one"),
      call("two"),
    ]);
    const [a, b, c, d, e] = entries.map(({ cid }) => cid);
    expect(entries.map(({ parents }) => parents)).toEqual([[], [a], [], [a], [d], [c]]);
    expect(b).not.toBe(e);
    const stored = await ledger.read({ entity_id: "one" });
    expect(stored.map(({ entry }) => entry.parents)).toEqual([[], [a], [a], [d]]);
  });

  test("goes on after the ledger was closed and opened", async () => {
    const home = await folder();
    const first = await open(home);
    const { entries } = await first.ledger.record([turn("one"), call("one")]);
    await first.ledger.close();
    await first.store.close();
    const second = await open(home);
    const more = await second.ledger.record([turn("one"), call("one")]);
    expect(more.entries[0]?.parents).toEqual([entries[0]?.cid]);
    expect(more.entries[1]?.parents).toEqual([more.entries[0]?.cid]);
  });

  test("of entries of no session is the system's", async () => {
    const { ledger } = await open(await folder());
    const [genesis] = await ledger.read();
    expect(genesis?.entry).toMatchObject({
      entity_id: "reins:system",
      actor: "reins:system",
      quality: "policy_change",
      parents: [],
      payload: { change: "key_added", holder: "reins:system" },
    });
    const { entries } = await ledger.record([
      { quality: "session_lifecycle", actor: "x", target: "y", payload: null },
    ]);
    expect(entries[0]?.parents).toEqual([genesis?.entry.cid]);
  });
});

describe("an entry", () => {
  test("has the content id of what was stored, and is found by it", async () => {
    const { ledger } = await open(await folder());
    const { entries } = await ledger.record([turn("one")]);
    const found = await ledger.get(entries[0]?.cid ?? "");
    if (!found) throw new Error("not found");
    const { cid, ...content } = found.entry;
    expect(buildEntry(content).entry.cid).toBe(cid);
    expect(await ledger.get("0".repeat(64))).toBeUndefined();
  });

  test("that its actor signs can be checked with the key announced before it, also after that was rotated", async () => {
    const { ledger } = await open(await folder());
    await ledger.record([turn("one", 1)]);
    await ledger.rotateKey("reed");
    await ledger.record([turn("one", 2)]);
    const keys = new Map<string, Buffer>();
    const retired: string[] = [];
    const signedBy: string[] = [];
    for (const { entry } of await ledger.read()) {
      const payload = entry.payload as { change?: string; key_id: string; public_key: string };
      if (payload.change === "key_added") keys.set(payload.key_id, Buffer.from(payload.public_key, "base64"));
      if (payload.change === "key_retired") retired.push(payload.key_id);
      const { cid: _, ...content } = entry;
      if (entry.proof?.type !== "attestation") throw new Error("not signed");
      const { body } = buildEntry({ ...content, proof: null });
      const key = keys.get(entry.proof.key_id);
      if (!key) throw new Error("signed by a key that was not announced");
      expect(verifySignature(key, Buffer.from(body), Buffer.from(entry.proof.signature, "base64"))).toBe(
        true,
      );
      if (entry.quality === "turn") signedBy.push(entry.proof.key_id);
    }
    expect(retired).toEqual([signedBy[0]]);
    expect(signedBy[0]).not.toBe(signedBy[1]);
  });

  test("that is no JSON is refused before anything is written", async () => {
    const { ledger } = await open(await folder());
    const before = await ledger.size();
    await expect(ledger.record([turn("one"), { ...call("one"), payload: { m: new Map() } }])).rejects.toThrow(
      "payload.m: a Map",
    );
    expect(await ledger.size()).toBe(before);
  });
});

describe("state and record", () => {
  test("change together or not at all", async () => {
    const { ledger, store } = await open(await folder());
    const before = await ledger.size();
    const lease = await store.claim("x", "me", 60_000);
    const fence = { tables: "leases", name: "fence", args: { lease: { ...lease, epoch: 99 } } };
    await expect(ledger.record([turn("one")], { with: [fence] })).rejects.toThrow(
      "has passed to another owner",
    );
    expect((await ledger.read({ entity_id: "one" })).length).toBe(0);
    const { entries } = await ledger.record([turn("one")]);
    expect(entries[0]?.parents).toEqual([]);
    expect(await ledger.size()).toBe(before + 2);
  });
});

describe("reading", () => {
  test("by session, quality, actor, tag and time, in pages that neither overlap nor leave gaps", async () => {
    const { ledger } = await open(await folder());
    const drafts = Array.from({ length: 25 }, (_, n) => ({
      ...call(n % 2 ? "odd" : "even", n),
      tags: n % 5 === 0 ? ["fifth"] : [],
      actor: n < 10 ? "early" : "late",
    }));
    const { entries } = await ledger.record(drafts);
    const seqs = async (range: Parameters<Ledger["read"]>[0]) =>
      (await ledger.read(range)).map(({ seq }) => seq);
    const expected = (keep: (n: number) => boolean) =>
      entries.filter((_, n) => keep(n)).map(({ seq }) => seq);
    expect(await seqs({ entity_id: "odd" })).toEqual(expected((n) => n % 2 === 1));
    expect(await seqs({ quality: "tool_call", actor: "early" })).toEqual(expected((n) => n < 10));
    expect(await seqs({ tag: "fifth", entity_id: "even" })).toEqual(expected((n) => n % 10 === 0));
    expect(await seqs({ quality: "tool_call", order: "newest", limit: 3 })).toEqual(
      entries
        .slice(-3)
        .map(({ seq }) => seq)
        .reverse(),
    );
    expect(await seqs({ until: "2000-01-01T00:00:00.000Z" })).toEqual([]);
    const pages: number[] = [];
    for (let after = -1; ; ) {
      const page = await seqs({ quality: "tool_call", after, limit: 4 });
      pages.push(...page);
      if (page.length < 4) break;
      after = page.at(-1) ?? 0;
    }
    expect(pages).toEqual(entries.map(({ seq }) => seq));
  });
});

describe("checkpoints", () => {
  test("cover every entry, are signed, and are not made when there is nothing new", async () => {
    const { ledger } = await open(await folder());
    await ledger.record([turn("one"), call("one")]);
    const first = await ledger.checkpoint();
    expect(openCheckpoint(first.note, ledger.logKey)).toMatchObject({
      origin: "reins/test",
      size: await ledger.size(),
    });
    expect(await ledger.checkpoint()).toEqual(first);
    await ledger.record([call("one")]);
    expect((await ledger.checkpoint()).size).toBe(first.size + 1);
    expect((await ledger.checkpoints(0, 100)).map(({ size }) => size)).toEqual([first.size, first.size + 1]);
  });

  test("come by themselves soon after new entries", async () => {
    const { ledger, store } = await open(await folder());
    await ledger.record([call("one")]);
    const size = await ledger.size();
    await expect.poll(async () => (await store.query(ledgerTables, "checkpoint", {}))?.size).toBe(size);
  });

  test("of what a killed process left uncovered are made when it is opened again", async () => {
    const home = await folder();
    const first = await open(home);
    await first.ledger.record([call("one")]);
    await first.store.close();
    const second = await open(home);
    expect((await second.ledger.checkpoint()).size).toBe(await second.ledger.size());
  });
});

describe("export and import", () => {
  test("give the same ledger again, as a copy that cannot be added to", async () => {
    const { ledger } = await open(await folder());
    await ledger.record([turn("one"), call("one"), turn("two")]);
    const lines = await collect(exportLines(ledger));
    expect(JSON.parse(lines[0] ?? "")).toMatchObject({
      kind: "header",
      size: await ledger.size(),
      log_key: ledger.logKey,
    });
    const home = await folder();
    const store = await openSqlite({ path: join(home, "reins.db"), tables: [ledgerTables] });
    onTestFinished(() => store.close());
    expect(await importLines(store, from(lines))).toEqual({ origin: "reins/test", entries: 5, added: 5 });
    expect(await importLines(store, from(lines))).toMatchObject({ added: 0 });
    const signers = new KeyRing(new KeyFolder(join(home, "keys")));
    const copy = await Ledger.open({ store, signers, newOrigin: () => "unused" });
    expect(await collect(exportLines(copy))).toEqual(lines);
    await expect(copy.record([turn("one")])).rejects.toThrow("this is a copy of the ledger reins/test");
  });

  test("extend what is there and refuse what contradicts it", async () => {
    const { ledger, store } = await open(await folder());
    await ledger.record([turn("one")]);
    const early = await collect(exportLines(ledger));
    await ledger.record([call("one")]);
    const late = await collect(exportLines(ledger));
    expect(await importLines(store, from(early))).toMatchObject({ added: 0 });
    const copy = await openSqlite({ path: join(await folder(), "c.db"), tables: [ledgerTables] });
    onTestFinished(() => copy.close());
    await importLines(copy, from(early));
    expect(await importLines(copy, from(late))).toMatchObject({ added: 1 });
    const other = await open(await folder());
    await expect(importLines(other.store, from(late))).rejects.toThrow("this database holds the ledger");
    const cut = late.slice(0, -1);
    await expect(importLines(copy, from(cut))).rejects.toThrow("cut off");
    const forged = late.map((line) => line.replace('"n":0', '"n":1'));
    await expect(importLines(await fresh(), from(forged))).rejects.toThrow("is not what its content id");
  });
});

test("a proof file holds the entry, its way to a signed root, and the key that signed it", async () => {
  const { ledger } = await open(await folder());
  const { entries } = await ledger.record([turn("one"), call("one")]);
  const proof = await proveEntry(ledger, entries[0]?.cid ?? "");
  expect(proof).toMatchObject({
    format: "reins-proof/1",
    log_key: ledger.logKey,
    index: entries[0]?.seq,
    entry: { cid: entries[0]?.cid },
    key: { entry: { payload: { change: "key_added", holder: "reed" } } },
  });
  expect((await proveEntry(ledger, entries[1]?.cid ?? "")).key).toBeNull();
  await expect(proveEntry(ledger, "0".repeat(64))).rejects.toThrow("there is no entry");
});

async function fresh(): Promise<Store> {
  const store = await openSqlite({ path: join(await folder(), "f.db"), tables: [ledgerTables] });
  onTestFinished(() => store.close());
  return store;
}
