import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { inPieces, linesOfExport } from "./transfer.ts";

it("joins lines into chunks without loss", async () => {
  async function* lines() {
    for (let number = 0; number < 50_000; number += 1) yield `${number}\n`;
  }
  const pieces = await Array.fromAsync(inPieces(lines()));
  expect(pieces.length).toBeLessThan(10);
  expect(pieces.join("")).toBe((await Array.fromAsync(lines())).join(""));
});

const text = '{"kind":"header"}\n{"note":"ünïcödé 🐎"}\n';
const lines = ['{"kind":"header"}', '{"note":"ünïcödé 🐎"}'];
const nothing = Readable.from([]);

/** Bytes one by one, so that characters are cut in the middle. */
function dripping(bytes: Uint8Array): Readable {
  return Readable.from([...bytes].map((byte) => Buffer.of(byte)));
}

describe("the lines of an export", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "reins-lines-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it.each([
    ["plain", Buffer.from(text)],
    ["compressed", gzipSync(text)],
  ])("are read from a file, %s", async (name, bytes) => {
    const path = join(folder, name);
    await writeFile(path, bytes);
    expect(await Array.fromAsync(linesOfExport(path, nothing))).toEqual(lines);
  });

  it("are read from stdin in any chunks", async () => {
    expect(await Array.fromAsync(linesOfExport("-", dripping(Buffer.from(text))))).toEqual(lines);
    expect(await Array.fromAsync(linesOfExport("-", Readable.from([gzipSync(text)])))).toEqual(lines);
    expect(await Array.fromAsync(linesOfExport("-", Readable.from([])))).toEqual([]);
  });

  it("may lack the last newline", async () => {
    expect(await Array.fromAsync(linesOfExport("-", Readable.from([Buffer.from("a\nb")])))).toEqual([
      "a",
      "b",
    ]);
  });

  it.each([
    ["is not there", "missing", undefined],
    ["is no text", "binary", Buffer.of(0xff, 0xfe, 0x0a)],
    ["is compressed and cut off", "cut", gzipSync(text).subarray(0, 20)],
  ])("rejects a file that %s", async (_, name, bytes) => {
    const path = join(folder, name);
    if (bytes) await writeFile(path, bytes);
    const failed = Array.fromAsync(linesOfExport(path, nothing));
    await expect(failed).rejects.toMatchObject({ message: expect.stringContaining(path), exitCode: 3 });
  });
});
