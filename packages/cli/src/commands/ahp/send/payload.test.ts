import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Readable } from "node:stream";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { readPayload } from "./payload.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "reins-payload-"));
});
afterAll(() => rm(folder, { recursive: true }));

const nothing = () => Readable.from([]);

describe("a payload", () => {
  it("is JSON, a file, or what comes in", async () => {
    const path = join(folder, "payload.json");
    await writeFile(path, '{"from":"file"}');
    expect(await readPayload('{"a":[1]}', nothing())).toEqual({ a: [1] });
    expect(await readPayload(`@${path}`, nothing())).toEqual({ from: "file" });
    expect(await readPayload("-", Readable.from(['{"from":', '"stdin"}']))).toEqual({ from: "stdin" });
  });

  it("says what is wrong with it", async () => {
    await expect(readPayload("{", nothing())).rejects.toThrow("not JSON");
    await expect(readPayload("-", nothing())).rejects.toThrow("not JSON");
    await expect(readPayload("@/no/such/file", nothing())).rejects.toThrow("cannot be read");
  });
});
