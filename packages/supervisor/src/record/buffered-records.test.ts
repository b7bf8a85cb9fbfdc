import type { Draft } from "@reins/ledger";
import { describe, expect, test } from "vitest";
import { BufferedRecords } from "./buffered-records.ts";

const draft = (target: string): Draft => ({ quality: "policy_verdict", actor: "reed", target, payload: {} });

/** A ledger that notes what is recorded, and rejects drafts whose target is `bad`. */
function buffered() {
  const commits: string[][] = [];
  const errors: unknown[] = [];
  let hold: Promise<void> | undefined;
  const record = async (drafts: readonly Draft[], options: object) => {
    expect(options).toEqual({ durable: false });
    const targets = drafts.map(({ target }) => target);
    await hold;
    if (targets.includes("bad")) throw new Error("this entry cannot be written");
    commits.push(targets);
    return { entries: targets.map((target) => ({ cid: `cid of ${target}` })), results: [] };
  };
  const records = new BufferedRecords({ record } as never, (error) => errors.push(error));
  return {
    records,
    commits,
    errors,
    holdUntil: (until: Promise<void>) => {
      hold = until;
    },
  };
}

describe("buffered records", () => {
  test("are written together, in order, and return their content ids", async () => {
    const { records, commits } = buffered();
    const written = ["a", "b", "c"].map((target) => records.add(() => draft(target)).written);
    expect(commits).toEqual([]);
    expect(records.waiting).toHaveLength(3);
    expect(await Promise.all(written)).toEqual(["cid of a", "cid of b", "cid of c"]);
    expect(commits).toEqual([["a", "b", "c"]]);
    expect(records.waiting).toHaveLength(0);
  });

  test("are made when they are written, not when they are added", async () => {
    const { records } = buffered();
    let made = 0;
    const { written } = records.add(() => {
      made += 1;
      return draft("a");
    });
    expect(made).toBe(0);
    await written;
    expect(made).toBe(1);
  });

  test("are passed to the ledger at once when something is to come after them", async () => {
    const { records, commits } = buffered();
    const { written } = records.add(() => draft("a"));
    records.send();
    expect(records.waiting).toHaveLength(0);
    await written;
    expect(commits).toEqual([["a"]]);
  });

  test("are written without the one that cannot be, which is written in its other form", async () => {
    const { records, commits, errors } = buffered();
    const written = [
      records.add(() => draft("a")),
      records.add(
        () => draft("bad"),
        () => draft("short"),
      ),
      records.add(() => draft("c")),
    ].map((added) => added.written);
    expect(await Promise.all(written)).toEqual(["cid of a", "cid of short", "cid of c"]);
    expect(commits).toEqual([["a"], ["short"], ["c"]]);
    expect(errors).toEqual([]);
  });

  test.each([
    ["has no other form", undefined],
    ["cannot be written in its other form either", () => draft("bad")],
  ])("report the one that %s, and none rejects", async (_, otherwise) => {
    const { records, errors } = buffered();
    const { written } = records.add(() => draft("bad"), otherwise);
    expect(await written).toBeUndefined();
    expect(errors).toMatchObject([{ message: "this entry cannot be written" }]);
  });

  test("report one that cannot be made", async () => {
    const { records, errors } = buffered();
    const { written } = records.add(() => {
      throw new Error("no draft");
    });
    expect(await written).toBeUndefined();
    expect(errors).toMatchObject([{ message: "no draft" }]);
  });

  test("go into commits of bounded size", async () => {
    const { records, commits } = buffered();
    const all = Array.from({ length: 1_100 }, (_, number) => records.add(() => draft(`${number}`)).written);
    await Promise.all(all);
    expect(commits.map(({ length }) => length)).toEqual([500, 500, 100]);
  });

  test("make callers wait while too many are under way", async () => {
    const { records, holdUntil } = buffered();
    const gate = Promise.withResolvers<void>();
    holdUntil(gate.promise);
    const rooms: (Promise<void> | undefined)[] = [];
    for (let number = 0; number < 50_000; number += 1) rooms.push(records.add(() => draft("a")).room);
    expect(rooms.filter(Boolean)).toHaveLength(1);
    let hasRoom = false;
    void rooms.at(-1)?.then(() => {
      hasRoom = true;
    });
    records.send();
    await new Promise(setImmediate);
    expect(hasRoom).toBe(false);
    gate.resolve();
    await records.flush();
    expect(hasRoom).toBe(true);
    expect(records.add(() => draft("b")).room).toBeUndefined();
  });

  test("are all written after a flush", async () => {
    const { records, commits } = buffered();
    records.add(() => draft("a"));
    await records.flush();
    records.add(() => draft("b"));
    records.add(() => draft("c"));
    await records.flush();
    expect(commits).toEqual([["a"], ["b", "c"]]);
    await records.flush();
  });
});
