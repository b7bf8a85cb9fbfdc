import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Clock, systemClock } from "@reins/kit";
import { ManualClock } from "@reins/kit/manual-clock";
import { change, openSqlite, type Store, StoreError } from "@reins/store";
import { describe, expect, onTestFinished, test } from "vitest";
import { ArtifactStore } from "../src/artifacts/artifact-store.ts";
import { reveal } from "../src/artifacts/private-payload.ts";
import { blake3Hex } from "../src/canonical.ts";
import { openCheckpoint, verifierKey } from "../src/checkpoint.ts";
import { buildEntry, type Draft } from "../src/entry.ts";
import { KeyFolder, LOG_HOLDER } from "../src/keys/key-folder.ts";
import { verifySignature } from "../src/keys/signer.ts";
import { Ledger } from "../src/ledger.ts";
import { ledgerTables } from "../src/tables/tables.ts";
import { exportLines, importLines, proveEntry } from "../src/transfer.ts";
import { leafHash, nodeHash } from "../src/tree.ts";
import { breaking } from "./fixtures/breaking-store.ts";

async function folder(): Promise<string> {
  const path = await mkdtemp(join(tmpdir(), "ledger-"));
  onTestFinished(() => rm(path, { recursive: true, force: true }));
  return path;
}

/** A ledger on disk, which may be opened again and again. With a clock that stands still it makes no checkpoint by itself. */
async function open(home: string, onCommit?: Parameters<typeof breaking>[1], clock: Clock = systemClock) {
  const sound = await openSqlite({ path: join(home, "reins.db"), tables: [ledgerTables] });
  const store = onCommit ? breaking(sound, onCommit) : sound;
  onTestFinished(() => store.close());
  const keys = new KeyFolder(join(home, "keys"));
  const artifacts = new ArtifactStore(join(home, "artifacts"));
  const newOrigin = () => "reins/test";
  const ledger = await Ledger.open({ store, signers: keys, artifacts, newOrigin, clock });
  return { ledger, store, keys, artifacts };
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

/** What was recorded, with the places that it has in the tree. */
async function placesOf(ledger: Ledger, { entries }: Awaited<ReturnType<Ledger["record"]>>) {
  const found = await Promise.all(entries.map(({ cid }) => ledger.get(cid)));
  return found.map((placed) => ({ seq: placed?.seq ?? -1, cid: placed?.entry.cid ?? "" }));
}

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

  test("continues after the ledger was closed and opened", async () => {
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

test("a ledger that was named and came no further is begun when it is opened again", async () => {
  const home = await folder();
  const keys = new KeyFolder(join(home, "keys"));
  const log = await keys.signer(LOG_HOLDER);
  const early = await openSqlite({ path: join(home, "reins.db"), tables: [ledgerTables] });
  const described = { origin: "reins/early", log_key: verifierKey("reins/early", log.publicKey) };
  await early.commit([change(ledgerTables, "describe", described)]);
  await early.close();
  const { ledger } = await open(home);
  await ledger.record([call("one")]);
  const [first, second] = await ledger.read();
  expect(first?.entry.payload).toMatchObject({ change: "key_added", holder: "reins:system" });
  expect(second?.entry.entity_id).toBe("one");
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

describe("keys", () => {
  test("the system's own key can be rotated: the old one announces the new one", async () => {
    const { ledger, keys } = await open(await folder());
    await ledger.rotateKey("reins:system");
    await ledger.record([turn("one")]);
    const entries = (await ledger.read({ tag: "key" })).map(({ entry }) => entry);
    const signedBy = entries.map(({ proof }) => proof?.type === "attestation" && proof.key_id);
    const [first, second] = (await keys.list())
      .filter(({ holder }) => holder === "reins:system")
      .map(({ keyId }) => keyId);
    expect(entries.map(({ payload }) => (payload as { change: string }).change)).toEqual([
      "key_added",
      "key_added",
      "key_retired",
      "key_added",
    ]);
    expect(signedBy).toEqual([first, first, second, second]);
  });

  test("a rotation that a crash cut short is finished when the ledger is opened again", async () => {
    const home = await folder();
    const before = await open(home);
    await before.ledger.record([turn("one")]);
    await before.keys.rotate("reed");
    await before.store.close();
    const after = await open(home);
    const [retired] = (await after.keys.list()).filter(({ status }) => status === "retired");
    const last = (await after.ledger.read({ tag: "key" })).at(-1);
    expect(last?.entry.payload).toEqual({ change: "key_retired", key_id: retired?.keyId });
  });

  test("a ledger whose system has a key that it does not know is not gone on with", async () => {
    const home = await folder();
    const { ledger, store } = await open(home);
    await ledger.close();
    await store.close();
    await rm(join(home, "keys", `signing-${blake3Hex("reins:system")}.json`));
    await expect(open(home)).rejects.toThrow("bring back both from one backup");
  });

  test("a key that was brought back after it was retired signs nothing", async () => {
    const home = await folder();
    const { ledger, store } = await open(home);
    await ledger.record([turn("one")]);
    const file = join(home, "keys", `signing-${blake3Hex("reed")}.json`);
    const before = await readFile(file);
    await ledger.rotateKey("reed");
    await store.close();
    await writeFile(file, before);
    const again = await open(home);
    await expect(again.ledger.record([turn("one")])).rejects.toThrow("of reed that may sign");
  });

  test("a key that signed nothing yet is rotated without an entry about the key that the ledger does not know", async () => {
    const { ledger, keys } = await open(await folder());
    await keys.signer("ann");
    await ledger.rotateKey("ann");
    const changes = (await ledger.read({ tag: "key" })).map(({ entry: { payload } }) => payload);
    expect(changes).toMatchObject([
      { change: "key_added", holder: "reins:system" },
      { change: "key_added", holder: "ann" },
    ]);
  });

  test("no entry is signed by a key that was retired before it, however many are under way", async () => {
    const { ledger } = await open(await folder());
    const recording = Array.from({ length: 50 }, (_, n) => ledger.record([turn(`s${n}`)]));
    await Promise.all([...recording.slice(0, 25), ledger.rotateKey("reed"), ...recording.slice(25)]);
    const retired = new Set<string>();
    for (const { entry } of await ledger.read({ limit: 1_000 })) {
      const payload = entry.payload as { change?: string; key_id?: string };
      if (entry.proof?.type === "attestation") expect(retired.has(entry.proof.key_id)).toBe(false);
      if (payload.change === "key_retired") retired.add(payload.key_id ?? "");
    }
    expect(retired.size).toBe(1);
  });
});

describe("protected content", () => {
  test("private parts are kept beside the ledger, come back, and can be erased", async () => {
    const { ledger, artifacts } = await open(await folder());
    const draft = {
      ...call("one"),
      payload: { tool: "bash", output: "my secret" },
      isPrivate: (_: unknown, path: readonly unknown[]) => path[0] === "output",
    };
    const { entries } = await ledger.record([draft]);
    const stored = await ledger.get(entries[0]?.cid ?? "");
    expect(JSON.stringify(stored)).not.toContain("my secret");
    expect(await reveal(artifacts, stored?.entry.payload)).toEqual({ tool: "bash", output: "my secret" });
    for await (const digest of artifacts.list()) await artifacts.erase(digest);
    expect(await reveal(artifacts, stored?.entry.payload)).toMatchObject({ output: { withheld: true } });
  });

  test("a reference that an agent wrote itself points at no content of others", async () => {
    const { ledger, artifacts } = await open(await folder());
    const { entries } = await ledger.record([
      { ...call("one"), payload: { output: "theirs" }, isPrivate: () => true },
    ]);
    const stolen = (await ledger.get(entries[0]?.cid ?? ""))?.entry.payload;
    const { entries: forged } = await ledger.record([{ ...call("two"), payload: { mine: stolen } }]);
    const payload = (await ledger.get(forged[0]?.cid ?? ""))?.entry.payload;
    expect(await reveal(artifacts, payload)).toEqual({ mine: stolen });
  });

  test("nothing private is left behind when the commit fails", async () => {
    const { ledger, artifacts } = await open(await folder());
    const bad = {
      tables: "leases",
      name: "fence",
      args: { lease: { name: "x", owner: "y", epoch: 1, expires: 0 } },
    };
    const draft = { ...call("one"), payload: { output: "secret" }, isPrivate: () => true };
    await expect(ledger.record([draft], { with: [bad] })).rejects.toThrow("has passed");
    expect(await Array.fromAsync(artifacts.list())).toEqual([]);
  });

  test("nothing private is left behind when another entry of the same commit is refused", async () => {
    const { ledger, artifacts } = await open(await folder());
    const secrets = Array.from({ length: 20 }, (_, n) => `secret ${n}`);
    const draft = { ...call("one"), payload: secrets, isPrivate: (value: unknown) => value !== secrets };
    await expect(ledger.record([draft, { ...draft, payload: new Map() }])).rejects.toThrow("a Map");
    expect(await Array.fromAsync(artifacts.list())).toEqual([]);
  });

  test("what is private stays when the entry may have been recorded", async () => {
    const home = await folder();
    let isBroken = false;
    const { ledger, artifacts, store } = await open(home, async (commit) => {
      const results = await commit();
      if (isBroken) throw new StoreError("io", "the disk failed");
      return results;
    });
    isBroken = true;
    const draft = { ...call("one"), payload: { output: "secret" }, isPrivate: () => true };
    await expect(ledger.record([draft])).rejects.toMatchObject({ code: "io" });
    await store.close();
    const again = await open(home);
    const [recorded] = await again.ledger.read({ entity_id: "one" });
    expect(await reveal(artifacts, recorded?.entry.payload)).toEqual({ output: "secret" });
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
    const entries = await placesOf(ledger, await ledger.record(drafts));
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

describe("finding", () => {
  test("by the beginning of a content id", async () => {
    const { ledger } = await open(await folder());
    const recorded = await ledger.record(Array.from({ length: 40 }, (_, n) => call("one", n)));
    const cids = (await ledger.read()).map(({ entry }) => entry.cid).sort();
    for (const { cid, seq } of await placesOf(ledger, recorded))
      expect(await ledger.find(cid, 2)).toMatchObject([{ seq, entry: { cid } }]);
    for (const digit of "0123456789abcdef") {
      const found = await ledger.find(digit, 100);
      expect(found.map(({ entry }) => entry.cid)).toEqual(cids.filter((cid) => cid.startsWith(digit)));
    }
    expect(await ledger.find("", 3)).toHaveLength(3);
  });

  test("the sessions there are, and the most recent of them", async () => {
    const { ledger } = await open(await folder());
    expect(await ledger.sessions(5)).toEqual({ count: 0, recent: [] });
    await ledger.record([call("one"), call("two"), call("three"), call("one"), call("two")]);
    await ledger.record([{ quality: "session_lifecycle", actor: "x", target: "y", payload: null }]);
    const { count, recent } = await ledger.sessions(2);
    expect(count).toBe(3);
    expect(recent).toMatchObject([
      { entity_id: "two", seq: 5 },
      { entity_id: "one", seq: 4 },
    ]);
    expect(recent[0]?.timestamp).toBe((await ledger.read({ after: 4, limit: 1 }))[0]?.entry.timestamp);
  });
});

describe("checkpoints", () => {
  test("cover every entry, are signed, and are not made when there is nothing new", async () => {
    const { ledger } = await open(await folder(), undefined, new ManualClock());
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

  test("that the disk had no room for are made at the next request once there is room", async () => {
    let isFull = false;
    const onCommit: Parameters<typeof breaking>[1] = async (commit, [change]) => {
      if (isFull && change?.name === "checkpoint") throw new StoreError("full", "the disk is full");
      return commit();
    };
    const { ledger } = await open(await folder(), onCommit, new ManualClock());
    await ledger.checkpoint();
    await ledger.record([call("one")]);
    isFull = true;
    expect(await ledger.checkpoint()).toMatchObject({ size: 1 });
    isFull = false;
    expect(await ledger.checkpoint()).toMatchObject({ size: 2 });
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
    const signers = new KeyFolder(join(home, "keys"));
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

describe("an import is refused", () => {
  /** An export with an entry that was added without the key. */
  function lengthened(lines: readonly string[], ledgerSize: number, checkpoint = ""): string[] {
    const { cid: _, ...content } = JSON.parse(lines.at(-3) ?? "").entry;
    const parents = [JSON.parse(lines.at(-3) ?? "").entry.cid];
    const { entry } = buildEntry({ ...content, parents, payload: { verdict: "allowed" } });
    const added = JSON.stringify({ kind: "entry", seq: ledgerSize, entry });
    return [...lines.slice(0, -1), added, checkpoint, lines.at(-1) ?? ""]
      .filter((line) => line !== "")
      .map((line) => line.replace(`"size":${ledgerSize}`, `"size":${ledgerSize + 1}`));
  }

  test("of entries that no checkpoint covers, also by the ledger whose own they are said to be", async () => {
    const { ledger, store } = await open(await folder());
    await ledger.record([call("one")]);
    const forged = lengthened(await collect(exportLines(ledger)), 2);
    await expect(importLines(store, from(forged))).rejects.toThrow("no checkpoint covers the entries 2 to 2");
    await expect(importLines(await fresh(), from(forged))).rejects.toThrow("no checkpoint covers");
    expect(await ledger.size()).toBe(2);
  });

  test("of entries that are not those of the checkpoint behind them", async () => {
    const { ledger } = await open(await folder());
    await ledger.record([call("one")]);
    const early = await collect(exportLines(ledger));
    await ledger.record([call("one", 1)]);
    const { note } = await ledger.checkpoint();
    const forged = lengthened(early, 2, JSON.stringify({ kind: "checkpoint", note }));
    await expect(importLines(await fresh(), from(forged))).rejects.toThrow(
      "the first 3 entries are not those",
    );
    const misplaced = [
      ...early.slice(0, -1),
      JSON.stringify({ kind: "checkpoint", note }),
      ...early.slice(-1),
    ];
    await expect(importLines(await fresh(), from(misplaced))).rejects.toThrow("of size 3 stands behind 2");
  });
});

test("a proof against a ledger of more entries than there are is refused, and those to come are right", async () => {
  const { ledger } = await open(await folder());
  await ledger.record([call("one")]);
  await expect(ledger.inclusion(0, 3)).rejects.toThrow("there are 2 entries, not 3");
  await ledger.record([call("one", 1)]);
  const [late, checkpoint] = [await ledger.inclusion(0, 3), await ledger.checkpoint()];
  const cids = (await ledger.read()).map(({ entry }) => leafHash(entry.cid));
  const [first, second, third] = cids;
  if (!first || !second || !third) throw new Error("there are to be three entries");
  expect(late.map((hash) => Buffer.from(hash))).toEqual([second, third]);
  const root = nodeHash(nodeHash(first, second), third);
  expect(Buffer.from(openCheckpoint(checkpoint.note, ledger.logKey).root)).toEqual(root);
});

test("a proof file holds the entry, its way to a signed root, and the key that signed it", async () => {
  const { ledger } = await open(await folder());
  const entries = await placesOf(ledger, await ledger.record([turn("one"), call("one")]));
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
