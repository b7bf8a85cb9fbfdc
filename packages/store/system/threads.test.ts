import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { change, openSqlite } from "../src/index.ts";
import { expectRefusal } from "../test/contract/subject.ts";
import { Faults } from "../test/faults.ts";
import { notes } from "../test/tables/notes.ts";
import { temporaryFolder } from "../test/temporary-folder.ts";

describe("the threads of a store", () => {
  async function open() {
    const path = join(await temporaryFolder(), "reins.db");
    const faults = new Faults();
    const store = await openSqlite({ path, tables: [notes], wrap: faults.wrap });
    const add = (id: string) => store.commit([change(notes, "add", { id, text: "" })]);
    const reopen = () => openSqlite({ path, tables: [notes] });
    return { store, faults, add, reopen };
  }

  it.each([
    ["exit", "ended with code 3"],
    ["throw", "died: thrown after"],
  ] as const)(
    "are missed when the writer's is gone (%s), and no caller waits forever",
    async (fault, message) => {
      const { store, faults, add, reopen } = await open();
      await add("before");
      let kept = 1;
      const produce = async (_: unknown, producer: number) => {
        for (let round = 0; ; round += 1) {
          await add(`${producer}-${round}`);
          kept += 1;
        }
      };
      faults.plan({ fault, on: "INSERT", after: 99, times: 1 });
      for (const one of await Promise.allSettled(Array.from({ length: 200 }, produce))) {
        expect(one).toMatchObject({
          reason: { code: "io", message: expect.stringContaining(message), retryable: false },
        });
      }
      await expectRefusal(add("late"), "io", "open the store anew");
      expect((await store.query(notes, "ids", null)).length).toBeGreaterThanOrEqual(kept);
      await store.close();
      const again = await reopen();
      expect((await again.query(notes, "ids", null)).length).toBeGreaterThanOrEqual(kept);
      await again.close();
    },
  );

  it("are missed when the reader's is gone, and writing continues", async () => {
    const { store, add } = await open();
    await expectRefusal(store.query(notes, "exit", null), "io", "ended with code 4");
    await expectRefusal(store.query(notes, "ids", null), "io", "open the store anew");
    expect(await add("a")).toEqual([1]);
    await store.close();
  });

  it("leave the caller's alone while the disk is slow", async () => {
    const { store, faults, add } = await open();
    await add("before");
    faults.plan({ fault: "hold", on: "COMMIT" });
    const settled: string[] = [];
    const writing = add("slow").then(() => settled.push("slow"));
    // While one batch is stuck at its end, this thread turns, queries are answered and commits gather.
    while (faults.failed === 0) await new Promise((resolve) => setImmediate(resolve));
    const gathering = Promise.all(Array.from({ length: 100 }, (_, index) => add(`${index}`)));
    expect(await store.query(notes, "ids", null)).toEqual(["before"]);
    expect(settled).toEqual([]);
    faults.plan();
    await writing;
    expect(await gathering).toHaveLength(100);
    expect(await store.query(notes, "ids", null)).toHaveLength(102);
    await store.close();
  });

  it("finish what the disk holds up before the store is closed", async () => {
    const { store, faults, add, reopen } = await open();
    faults.plan({ fault: "hold", on: "COMMIT" });
    const writing = add("slow");
    const closing = store.close();
    await expectRefusal(add("late"), "closed");
    faults.plan();
    expect(await writing).toEqual([1]);
    await closing;
    const again = await reopen();
    expect(await again.query(notes, "ids", null)).toEqual(["slow"]);
    await again.close();
  });
});
