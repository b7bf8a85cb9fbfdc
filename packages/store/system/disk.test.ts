import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import { change, openSqlite } from "../src/index.ts";
import { Child } from "../test/child.ts";
import { expectRefusal } from "../test/contract/subject.ts";
import { Faults } from "../test/faults.ts";
import { notes } from "../test/tables/notes.ts";
import { tally } from "../test/tables/tally.ts";
import { temporaryFolder } from "../test/temporary-folder.ts";
import { canMountSmallFileSystem, inSmallFileSystem } from "./children/small-file-system.ts";

async function open() {
  const path = join(await temporaryFolder(), "reins.db");
  const faults = new Faults();
  const reopen = () => openSqlite({ path, tables: [notes, tally], wrap: faults.wrap });
  const store = await reopen();
  const add = (id: string, to = store) =>
    to.commit([change(tally, "raise", { name: "x", by: 1 }), change(notes, "add", { id, text: "x" })]);
  return { store, faults, add, reopen };
}

describe("a full disk", () => {
  it.each(["INSERT", "COMMIT", "BEGIN"])(
    "stops writing at %s with a clear error until there is room",
    async (on) => {
      const { store, faults, add } = await open();
      await add("before");
      faults.plan({ fault: "SQLITE_FULL", on });
      const refused = await Promise.allSettled([add("a"), add("b"), add("c")]);
      for (const one of refused) {
        expect(one).toMatchObject({
          reason: {
            name: "StoreError",
            code: "full",
            retryable: true,
            message: expect.stringMatching(/^the disk is full; make room/),
          },
        });
      }
      expect(await store.query(notes, "ids", null)).toEqual(["before"]);
      faults.plan();
      expect(await Promise.all([add("a"), add("b")])).toEqual([
        [2, 2],
        [3, 3],
      ]);
      await store.close();
    },
  );

  it("rejects commits while the database may not grow, and accepts them when it may", async () => {
    const { store } = await open();
    const pages = (count: number) => change(notes, "pragma", { setting: `max_page_count = ${count}` });
    const add = (id: string) =>
      store.commit([
        change(tally, "raise", { name: "x", by: 1 }),
        change(notes, "add", { id, text: "x".repeat(9_000) }),
      ]);
    await store.commit([pages(60)]);
    const settled = await Promise.allSettled(Array.from({ length: 100 }, (_, index) => add(`${index}`)));
    for (const one of settled.filter(({ status }) => status === "rejected"))
      expect(one).toMatchObject({ reason: { code: "full", message: expect.stringMatching(/SQLITE_FULL/) } });
    let kept = settled.filter(({ status }) => status === "fulfilled").length;
    for (
      ;
      await add(`more ${kept}`).then(
        () => true,
        () => false,
      );
    )
      kept += 1;
    await expectRefusal(add("none"), "full");
    expect(await store.query(notes, "ids", null)).toHaveLength(kept);
    await store.commit([pages(1_000)]);
    expect(await add("again")).toEqual([kept + 1, kept + 1]);
    await store.close();
  });
});

requirement(
  "a small file system",
  canMountSmallFileSystem(),
  "unshare cannot mount one",
)("a disk that is really full", () => {
  it("stops writing, loses nothing that was kept, and resumes each time there is room", async () => {
    const folder = await temporaryFolder();
    const script = new URL("./children/full-disk.ts", import.meta.url);
    const child = Child.start(script, [folder], inSmallFileSystem(folder, "12m"));
    onTestFinished(() => child.kill());
    const said = await Array.fromAsync(child);
    await child.end();
    expect(said).toHaveLength(4);
    for (const round of said)
      expect(round).toEqual({ codes: ["full"], resumed: true, missing: 0, whole: true });
  });
});

describe("a failing disk", () => {
  it.each([
    ["before anything was written", { fault: "SQLITE_IOERR_WRITE", on: "INSERT" }],
    ["when it was to be waited for", { fault: "SQLITE_IOERR_FSYNC", on: "COMMIT", done: true }],
    ["at the end of a transaction", { fault: "SQLITE_IOERR_WRITE", on: "COMMIT" }],
    ["when a failure was to be undone", { fault: "SQLITE_IOERR_READ", on: "ROLLBACK" }],
  ] as const)("is not trusted again until the store is opened anew: %s", async (_, plan) => {
    const { store, faults, add, reopen } = await open();
    await add("before");
    faults.plan({ ...plan, times: 1 });
    const commits = plan.on === "ROLLBACK" ? [add("before")] : [add("a"), add("b")];
    for (const one of await Promise.allSettled(commits))
      expect(one).toMatchObject({ reason: { code: "io", retryable: false } });
    expect(faults.failed).toBe(1);
    await expectRefusal(add("c"), "io");
    await expectRefusal(store.claim("session", "here", 500), "io");
    expect(await store.query(notes, "ids", null)).toContain("before");
    await store.close();

    const again = await reopen();
    const ids = await again.query(notes, "ids", null);
    expect([["before"], ["before", "a", "b"]]).toContainEqual(ids);
    expect(await add("d", again)).toEqual([ids.length + 1, ids.length + 1]);
    await again.close();
  });

  it("says that the last commits may have been kept, only when that is so", async () => {
    const { store, faults, add } = await open();
    faults.plan({ fault: "SQLITE_IOERR_FSYNC", on: "COMMIT" });
    await expectRefusal(
      add("a"),
      "io",
      "whether the last commits were kept shows when the store is opened anew",
    );
    await store.close();
    const other = await open();
    other.faults.plan({ fault: "SQLITE_IOERR_WRITE", on: "INSERT" });
    await expectRefusal(other.add("a"), "io", /^((?!whether).)*$/);
    await other.store.close();
  });
});
