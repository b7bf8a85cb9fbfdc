import { stat } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { seededRandom } from "../../../scripts/torture/random.ts";
import { change } from "../src/sqlite/sqlite-store.ts";
import { openInProcess } from "../test/in-process.ts";
import { notes } from "../test/tables/notes.ts";
import { tally } from "../test/tables/tally.ts";
import { temporaryFolder } from "../test/temporary-folder.ts";
import { cutPower, type DatabaseImage, imageOf, type PowerCut, restore } from "../torture/power-cut.ts";

const FRAME = 4_120;

describe("a power cut", () => {
  /** A database after some durable commits, and after more that were only written or not yet answered. */
  async function written(folder: string) {
    const path = join(folder, "reins.db");
    const opened = await openInProcess(path);
    let next = 0;
    const write = (durable: boolean) => {
      const text = "x".repeat((next * 997) % 9_000);
      const changes = [
        change(notes, "add", { id: `${next}`, text }),
        change(tally, "raise", { name: "x", by: 1 }),
      ];
      next += 1;
      return { changes, durable };
    };
    for (let batch = 0; batch < 8; batch += 1) opened.apply([write(false), write(batch % 2 === 0)]);
    opened.apply([write(true)]);
    const promised = next;
    const { size } = await stat(`${path}-wal`);
    for (let batch = 0; batch < 6; batch += 1) opened.apply([write(false), write(batch > 3)]);
    const image = await imageOf(path);
    opened.close();
    return { image, promised, size, all: next };
  }

  async function countAfter(image: DatabaseImage, path: string): Promise<number> {
    await restore(image, path);
    const opened = await openInProcess(path);
    const ids = opened.query("notes", "ids", null);
    const count = opened.query("tally", "total", { name: "x" });
    expect(ids).toEqual(Array.from({ length: Number(count) }, (_, index) => `${index}`));
    expect(
      opened.apply([{ changes: [change(notes, "add", { id: "more", text: "" })], durable: true }]),
    ).toEqual([{ results: [Number(count) + 1] }]);
    opened.close();
    return Number(count);
  }

  it.each<PowerCut>(["cut off", "scribbled over", "sectors missing"])(
    "takes nothing that was promised, and leaves whole commits only: log %s",
    async (how) => {
      const folder = await temporaryFolder();
      const { image, promised, size, all } = await written(folder);
      expect(await countAfter(image, join(folder, "untouched.db"))).toBe(all);
      const random = seededRandom(20_260_204);
      const places = [size, size + 1, size + 23, size + 24, image.log.length - 1];
      for (let frame = size; frame < image.log.length; frame += 3 * FRAME)
        places.push(frame - 1, frame, frame + 24);
      while (places.length < 60) places.push(size + random.int(image.log.length - size));
      const counts = new Set<number>();
      for (const [index, place] of places.filter((at) => at >= size).entries()) {
        const count = await countAfter(cutPower(image, how, place, random), join(folder, `${index}.db`));
        expect(count).toBeGreaterThanOrEqual(promised);
        counts.add(count);
      }
      expect(counts.size).toBeGreaterThan(4);
      expect(Math.min(...counts)).toBe(promised);
    },
  );

  it("would show if it took what was promised", async () => {
    const folder = await temporaryFolder();
    const { image, promised, size } = await written(folder);
    const damaged = cutPower(image, "cut off", size - 1, seededRandom(1));
    expect(await countAfter(damaged, join(folder, "damaged.db"))).toBeLessThan(promised);
  });
});
