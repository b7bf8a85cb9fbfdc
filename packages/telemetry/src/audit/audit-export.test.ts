import { execFileSync } from "node:child_process";
import { appendFile, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import { systemClock } from "@reins/kit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { EntryList, entry, numbered } from "../../test/entries.ts";
import { AuditExport, CursorFile } from "./audit-export.ts";
import { type AuditDestination, DeliveryError, fileDestination, streamDestination } from "./destinations.ts";
import { AuditRecords, cursorIn } from "./records.ts";

let folder = "";
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "reins-audit-"));
});
afterAll(() => rm(folder, { recursive: true }));

const never = new AbortController().signal;
let count = 0;

function opened(ledger: EntryList, destination: AuditDestination, cursor?: CursorFile): AuditExport {
  const records = new AuditRecords(ledger, "jsonl", "1");
  return new AuditExport({ ledger, records, destination, cursor, clock: systemClock });
}

function freshPath(): string {
  count += 1;
  return join(folder, `f${count}`);
}

/** Takes everything in memory. */
function memory(): AuditDestination & { readonly batches: string[][] } {
  const batches: string[][] = [];
  return { batches, write: async (lines) => void batches.push([...lines]) };
}

const placesIn = (text: string) =>
  text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => cursorIn(line)?.seq);
const upTo = (length: number) => Array.from({ length }, (_, index) => index);

describe("an export to a file", () => {
  test("continues after the last record, also after one that was cut off", async () => {
    const path = freshPath();
    const ledger = new EntryList(numbered(5));
    const first = opened(ledger, fileDestination(path));
    await first.begin();
    await first.drain(never);
    expect(placesIn(await readFile(path, "utf8"))).toEqual(upTo(5));
    await appendFile(path, '{"cursor":"5.ab');
    ledger.entries.push(entry("kill"), entry("approval"));
    const second = opened(ledger, fileDestination(path));
    await second.begin();
    await second.drain(never);
    expect(placesIn(await readFile(path, "utf8"))).toEqual(upTo(7));
  });

  test("finds the end of a file whose last record is long, and of one with half a record only", async () => {
    const path = freshPath();
    const ledger = new EntryList([...numbered(2), entry("turn", { payload: { x: "y".repeat(300_000) } })]);
    for (const _ of [1, 2]) {
      const one = opened(ledger, fileDestination(path));
      await one.begin();
      await one.drain(never);
    }
    expect(placesIn(await readFile(path, "utf8"))).toEqual(upTo(3));
    const half = freshPath();
    await writeFile(half, '{"cursor":');
    const one = opened(ledger, fileDestination(half));
    await one.begin();
    await one.drain(never);
    expect(placesIn(await readFile(half, "utf8"))).toEqual(upTo(3));
  });

  test("refuses a file of something else, or of another ledger", async () => {
    const path = freshPath();
    await writeFile(path, "shopping list\n");
    const ledger = new EntryList(numbered(2));
    await expect(opened(ledger, fileDestination(path)).begin()).rejects.toThrow("choose another file");
    expect(await readFile(path, "utf8")).toBe("shopping list\n");
    const other = freshPath();
    const one = opened(new EntryList([entry("kill")]), fileDestination(other));
    await one.begin();
    await one.drain(never);
    await expect(opened(ledger, fileDestination(other)).begin()).rejects.toThrow("it is another one");
  });

  test("refuses what is no file, and waits for no reader of a pipe", async () => {
    const pipe = freshPath();
    execFileSync("mkfifo", [pipe]);
    for (const path of [pipe, folder, "/dev/null"]) {
      const one = opened(new EntryList(numbered(3)), fileDestination(path));
      await expect(one.begin()).rejects.toThrow("is no file");
      await expect(one.drain(never)).rejects.toThrow("is no file");
    }
  });

  test("goes on in a new file after a rotation, because the place is kept", async () => {
    const [path, state] = [freshPath(), freshPath()];
    const ledger = new EntryList(numbered(3));
    const first = opened(ledger, fileDestination(path), new CursorFile(state));
    await first.begin();
    await first.drain(never);
    await rm(path);
    ledger.entries.push(entry("kill"));
    const second = opened(ledger, fileDestination(path), new CursorFile(state));
    await second.begin();
    await second.drain(never);
    expect(placesIn(await readFile(path, "utf8"))).toEqual([3]);
  });
});

describe("an export", () => {
  test("repeats a batch that may not have arrived, and moves on only afterwards", async () => {
    const taken = memory();
    let isDown = true;
    const write: AuditDestination["write"] = async (...args) => {
      await taken.write(...args);
      if (isDown) throw new DeliveryError("the answer was lost");
    };
    const cursor = new CursorFile(freshPath());
    const one = opened(new EntryList(numbered(3)), { write }, cursor);
    await one.begin();
    await expect(one.drain(never)).rejects.toThrow("lost");
    expect(one.position.seq).toBe(-1);
    isDown = false;
    await one.drain(never);
    expect(taken.batches.map((lines) => placesIn(lines.join("")))).toEqual([upTo(3), upTo(3)]);
    expect((await new CursorFile(cursor.path).load()).marks.at(-1)?.seq).toBe(2);
  });

  test("sends fewer records at once to a receiver that finds them too many", async () => {
    const taken = memory();
    const write: AuditDestination["write"] = async (lines, ...rest) => {
      if (lines.length > 3) throw new DeliveryError("too large", { isTooLarge: true });
      await taken.write(lines, ...rest);
    };
    const one = opened(new EntryList(numbered(20)), { write });
    await one.begin();
    await one.drain(never);
    expect(placesIn(taken.batches.flat().join(""))).toEqual(upTo(20));
  });

  test("stands still at a single record that is not taken, rather than lose it", async () => {
    const write = async () => {
      throw new DeliveryError("too large", { isTooLarge: true });
    };
    const one = opened(new EntryList(numbered(4)), { write });
    await one.begin();
    await expect(one.drain(never)).rejects.toThrow("too large");
    expect(one.position.seq).toBe(-1);
  });

  test("is stopped also where a reader hangs, and repeats the batch then", async () => {
    const hanging = new Writable({ write: () => undefined });
    const stop = new AbortController();
    const one = opened(new EntryList(numbered(4)), streamDestination(hanging));
    await one.begin();
    const draining = one.drain(stop.signal);
    await expect.poll(() => hanging.writableLength).toBeGreaterThan(0);
    stop.abort(new Error("stopped"));
    await draining;
    expect(one.position.seq).toBe(-1);
  });

  test("bounds a batch by its size", async () => {
    const taken = memory();
    const large = upTo(6).map((index) => entry("turn", { payload: { index, text: "z".repeat(400_000) } }));
    const one = opened(new EntryList(large), taken);
    await one.begin();
    await one.drain(never);
    expect(taken.batches.map((lines) => lines.length)).toEqual([2, 2, 2]);
  });

  test("goes back to what the ledger still has, where the end of that was lost", async () => {
    const path = freshPath();
    const all = numbered(6);
    const ledger = new EntryList(all.slice(0, 3));
    const first = opened(ledger, memory(), new CursorFile(path));
    await first.begin();
    await first.drain(never);
    ledger.entries.push(...all.slice(3));
    await first.drain(never);
    const taken = memory();
    const cut = new EntryList([...all.slice(0, 4), entry("kill"), entry("approval")]);
    const second = opened(cut, taken, new CursorFile(path));
    await second.begin();
    expect(second.position.seq).toBe(2);
    await second.drain(never);
    expect(placesIn(taken.batches.flat().join(""))).toEqual([3, 4, 5]);
    await expect(
      opened(new EntryList([entry("kill")]), memory(), new CursorFile(path)).begin(),
    ).rejects.toThrow("to begin anew");
  });

  test("begins after a given cursor of this ledger, and after no other", async () => {
    const ledger = new EntryList(numbered(4));
    const taken = memory();
    const one = opened(ledger, taken);
    await one.begin({ seq: 1, cid: ledger.entries[1]?.cid });
    await one.drain(never);
    expect(placesIn(taken.batches.flat().join(""))).toEqual([2, 3]);
    await expect(one.begin({ seq: 1, cid: "0".repeat(64) })).rejects.toThrow("has no entry");
  });
});
