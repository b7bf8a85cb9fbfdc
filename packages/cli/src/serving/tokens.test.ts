import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { authenticatorOf, readTokens } from "./tokens.ts";

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "reins-tokens-"));
});
afterAll(() => rm(folder, { recursive: true }));

describe("tokens", () => {
  it("come from flags, else from the environment", () => {
    expect(readTokens([], {})).toEqual([]);
    expect(readTokens([], { REINS_TOKEN: "env" })).toEqual(["env"]);
    expect(readTokens(["a", "b"], { REINS_TOKEN: "env" })).toEqual(["a", "b"]);
  });

  it("are read from the lines of a file", async () => {
    const path = join(folder, "tokens");
    await writeFile(path, "one\n\n  two  \n");
    expect(readTokens([`@${path}`, "three"], {})).toEqual(["one", "two", "three"]);
    expect(readTokens([], { REINS_TOKEN: `@${path}` })).toEqual(["one", "two"]);
  });

  it("rejects invalid tokens", async () => {
    const empty = join(folder, "empty");
    await writeFile(empty, "\n");
    expect(() => readTokens([`@${empty}`], {})).toThrow("without a token");
    expect(() => readTokens([`@${join(folder, "missing")}`], {})).toThrow("cannot be read");
    expect(() => readTokens([""], {})).toThrow("no HTTP header");
    expect(() => readTokens(["two words"], {})).toThrow("no HTTP header");
    expect(() => readTokens([], { REINS_TOKEN: "línea" })).toThrow("REINS_TOKEN");
  });

  it("do not appear in errors", () => {
    expect(() => readTokens(["s3cret with spaces"], {})).toThrow(/^(?!.*s3cret)/);
  });

  it("authenticate a client that sends one of them", async () => {
    const { authenticate } = authenticatorOf(["one", "two"]);
    expect(await authenticate?.({ kind: "bearer", value: "two" })).toBe("token-2");
    expect(await authenticate?.({ kind: "api_key", value: "three" })).toBeUndefined();
    expect(authenticatorOf([])).toEqual({});
  });
});
