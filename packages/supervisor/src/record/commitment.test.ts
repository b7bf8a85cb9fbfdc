import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { Commitment } from "./commitment.ts";

describe("a commitment", () => {
  let folder: string;
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "reins-commitment-"));
  });
  afterAll(() => rm(folder, { recursive: true }));

  it("is the same for the same value, also the next day", async () => {
    const keys = join(folder, "keys");
    const first = (await Commitment.open(keys)).to({ a: 1, b: [2] });
    expect(first).toMatch(/^hmac-sha256:[0-9a-f]{64}$/);
    expect((await Commitment.open(keys)).to({ b: [2], a: 1 })).toBe(first);
    expect((await Commitment.open(keys)).to({ a: 1, b: [3] })).not.toBe(first);
    expect((await stat(join(keys, "commitment.key"))).mode & 0o777).toBe(0o600);
  });

  it("is made also of text that no canonical form has", async () => {
    const { to } = await Commitment.open(join(folder, "odd")).then((made) => ({ to: made.to.bind(made) }));
    expect(to({ text: "\ud800" })).toBe(to({ text: "\ud800" }));
    expect(to({ text: "\ud800" })).not.toBe(to({ text: "\ud801" }));
  });

  it("cannot be guessed without the key", async () => {
    const [here, there] = [
      await Commitment.open(join(folder, "a")),
      await Commitment.open(join(folder, "b")),
    ];
    expect(here.to("ls")).not.toBe(there.to("ls"));
  });

  it("is another for every purpose a digest has", async () => {
    const commitment = await Commitment.open(join(folder, "keys"));
    const digests = ["approval", "grant"].map((purpose) => commitment.digest(purpose, "[1]"));
    expect(digests).toEqual([
      expect.stringMatching(/^[0-9a-f]{64}$/),
      expect.not.stringContaining(digests[0]!),
    ]);
    expect(commitment.to([1])).not.toContain(digests[0]);
    expect((await Commitment.open(join(folder, "keys"))).digest("approval", "[1]")).toBe(digests[0]);
  });

  it("is not made with a damaged key", async () => {
    await writeFile(join(folder, "commitment.key"), "short");
    await expect(Commitment.open(folder)).rejects.toThrow("is damaged");
  });
});
