import { appendFile, mkdtemp, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { Journal, stillToStore } from "./journal.ts";

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "journal-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

const run = (first: number, ...texts: string[]) => ({
  tenant: "t",
  session: "s",
  epoch: 1,
  at: 0,
  first,
  texts: texts.length > 0 ? texts : [`{"n":${first}}`],
});

describe("the journal", () => {
  test("has what a process wrote that has ended, and begins anew after that", async () => {
    const folder = await newFolder();
    const before = await Journal.open(folder);
    before.begin();
    before.add([run(1, '{"a":"ö"}', '{"b":"\\n"}'), { ...run(3), except: "c" }]);
    before.add([run(4)]);
    const after = await Journal.open(folder);
    expect(after.left).toEqual([run(1, '{"a":"ö"}', '{"b":"\\n"}'), { ...run(3), except: "c" }, run(4)]);
    after.begin();
    after.add([run(5)]);
    expect((await Journal.open(folder)).left).toEqual([run(5)]);
  });

  test.each([
    ["half a description", '{"tenant":"t"'],
    ["messages that are missing", `${JSON.stringify({ ...run(2), texts: undefined, count: 2 })}\n{}\n`],
    ["a message that is cut off", `${JSON.stringify({ ...run(2), texts: undefined, count: 1 })}\n{"n":`],
    ["a message without its end", `${JSON.stringify({ ...run(2), texts: undefined, count: 1 })}\n{}`],
    ["what was never written", "\0".repeat(100)],
  ])("ends before %s", async (_, rest) => {
    const folder = await newFolder();
    const journal = await Journal.open(folder);
    journal.begin();
    journal.add([run(1)]);
    await appendFile(join(folder, "log-a.journal"), rest);
    expect((await Journal.open(folder)).left).toEqual([run(1)]);
  });

  test("is, after a power cut at any byte, the beginning of what was written", async () => {
    const folder = await newFolder();
    const journal = await Journal.open(folder);
    journal.begin();
    const written = [
      run(1, '{"a":"ö"}', '{"b":"\\n"}'),
      { ...run(3), except: "c" },
      run(4, '{"long":"…………"}'),
    ];
    for (const one of written) journal.add([one]);
    const whole = await readFile(join(folder, "log-a.journal"));
    const after = await newFolder();
    let most = 0;
    for (let cut = 0; cut <= whole.length; cut += 1) {
      // What the disk did not get is missing, or is there as zeros where it got the new length of the file.
      for (const rest of [0, whole.length - cut, 4_096]) {
        await writeFile(
          join(after, "log-a.journal"),
          Buffer.concat([whole.subarray(0, cut), Buffer.alloc(rest)]),
        );
        const found = await Journal.open(after);
        const { left } = found;
        found.close();
        expect(left).toEqual(written.slice(0, left.length));
        expect(left.length).toBeGreaterThanOrEqual(rest === 0 ? most : 0);
        most = Math.max(most, left.length);
      }
    }
    expect(most).toBe(written.length);
  });

  test("stays small while the store keeps up, and loses nothing while it does not", async () => {
    const folder = await newFolder();
    const journal = await Journal.open(folder, 1_000);
    journal.begin();
    const sizes = async () => {
      const stats = await Promise.all(["a", "b"].map((part) => stat(join(folder, `log-${part}.journal`))));
      return Math.max(...stats.map(({ size }) => size));
    };
    for (let n = 1; n <= 200; n += 1) journal.stored(journal.add([run(n)]));
    expect(await sizes()).toBeLessThan(1_200);
    for (let n = 201; n <= 400; n += 1) journal.add([run(n)]);
    const { left } = await Journal.open(folder);
    expect(left.map(({ first }) => first).slice(-200)).toEqual(
      Array.from({ length: 200 }, (_, n) => 201 + n),
    );
  });

  test("is deleted when everything is stored, and takes nothing more", async () => {
    const folder = await newFolder();
    const journal = await Journal.open(folder);
    journal.begin();
    journal.stored(journal.add([run(1)]));
    journal.close();
    journal.close();
    expect(await readdir(folder)).toEqual([]);
    expect(() => journal.add([run(2)])).toThrow("closed");
  });
});

describe("a journal that was damaged", () => {
  const TEXTS = [
    '{"a":"ö"}',
    '{"n":2}',
    '{"text":"a longer message, so that there is more to damage"}',
    '{"n":4}',
  ];

  /** A folder with a journal whose process died, and what its file holds. */
  async function written() {
    const folder = await newFolder();
    const journal = await Journal.open(folder);
    journal.begin();
    journal.add([run(1, ...TEXTS.slice(0, 2))]);
    journal.add([run(3, ...TEXTS.slice(2, 3))]);
    journal.add([run(4, ...TEXTS.slice(3))]);
    const path = join(folder, "log-a.journal");
    return { folder, path, content: await readFile(path) };
  }

  /** Every message is there as it was, or reported as missing. */
  async function expectNothingSilent(folder: string, place: number): Promise<number> {
    const { runs, holes } = stillToStore(await Journal.open(folder), new Map());
    const found = new Map(runs.flatMap(({ first, texts }) => texts.map((text, at) => [first + at, text])));
    const missing = new Set(
      holes.flatMap(({ first, last }) => Array.from({ length: last - first + 1 }, (_, at) => first + at)),
    );
    for (const [index, text] of TEXTS.entries())
      expect(found.get(index + 1) ?? (missing.has(index + 1) ? text : undefined), `byte ${place}`).toBe(text);
    return missing.size;
  }

  test("reports what is missing, whichever of its bits is flipped", async () => {
    const { folder, path, content } = await written();
    expect(await expectNothingSilent(folder, -1)).toBe(0);
    let lost = 0;
    for (let place = 0; place < content.length; place += 1) {
      const damaged = Buffer.from(content);
      damaged[place] = (damaged[place] ?? 0) ^ (1 << (place % 8));
      await writeFile(path, damaged);
      if ((await expectNothingSilent(folder, place)) > 0) lost += 1;
    }
    expect(lost).toBeGreaterThan(content.length * 0.9);
  });

  test("reports what is missing, wherever it is cut off, and when it is gone", async () => {
    const { folder, path, content } = await written();
    for (let place = 0; place < content.length; place += 1) {
      await writeFile(path, content.subarray(0, place));
      expect(await expectNothingSilent(folder, place)).toBeGreaterThan(0);
    }
    await rm(path);
    expect(await expectNothingSilent(folder, -1)).toBe(TEXTS.length);
  });
});

test("runs of a journal are still to be stored after what is, and holes between them are reported", () => {
  const run = (first: number, ...texts: string[]) => ({
    tenant: "t",
    session: "s",
    epoch: 3,
    at: 7,
    first,
    texts,
  });
  const runs = [run(1, "{}", "{}"), run(3, "{}"), run(4, "{}", "{}"), run(9, "{}")];
  const lasts = new Map([["t", 3]]);
  const places = new Map([
    ["t", 11],
    ["u", 2],
  ]);
  expect(stillToStore({ left: runs, places }, lasts)).toEqual({
    runs: [run(4, "{}", "{}"), run(9, "{}")],
    holes: [
      { tenant: "t", first: 6, last: 8 },
      { tenant: "t", first: 10, last: 11 },
      { tenant: "u", first: 1, last: 2 },
    ],
  });
  expect(lasts.get("t")).toBe(11);
});
