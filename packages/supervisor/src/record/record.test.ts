import { createHmac } from "node:crypto";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { Redactor } from "../redaction/redactor.ts";
import { Commitment, KeyedHash, withoutSecrets } from "./record.ts";

const TOKEN = `ghp_${"a1B2".repeat(9)}`;

describe("a draft that is recorded", () => {
  const draft = {
    quality: "tool_call",
    actor: "reed",
    target: `run ${TOKEN}`,
    entity_id: "reed:acp:1",
    tags: [`call:${TOKEN}`, "completed"],
    payload: { arguments: { command: `curl -H 'x: ${TOKEN}'`, word: "open sesame street" } },
  } as const;

  it("has no secret in it that is known by its form, wherever it stood", () => {
    const shown = withoutSecrets(draft);
    expect(JSON.stringify(shown)).not.toContain(TOKEN);
    expect(shown.target).toMatch(/^run .*\[redacted\]$/);
    expect(shown.tags).toEqual([expect.stringMatching(/^call:.*\[redacted\]$/), "completed"]);
  });

  it("nor one that was configured", () => {
    const redactor = Redactor.create({ values: ["open sesame street"] });
    const shown = withoutSecrets(draft, (value) => redactor.value(value));
    expect(shown.payload).toMatchObject({ arguments: { word: "[redacted]" } });
  });

  it("keeps who did it, and in which session", () => {
    expect(withoutSecrets(draft)).toMatchObject({
      quality: "tool_call",
      actor: "reed",
      entity_id: "reed:acp:1",
    });
  });
});

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

describe("a keyed hash", () => {
  test("the first two cases of RFC 4231", () => {
    expect(new KeyedHash(Buffer.alloc(20, 0x0b)).of("Hi There")).toBe(
      "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7",
    );
    expect(new KeyedHash(Buffer.from("Jefe")).of("what do ya want for nothing?")).toBe(
      "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843",
    );
  });

  test("any text has the hash that the platform gives it, whatever was hashed before", () => {
    const key = fc.uint8Array({ minLength: 1, maxLength: 64 });
    const texts = fc.array(fc.string({ unit: "binary", size: "medium" }), { minLength: 1 });
    fc.assert(
      fc.property(key, texts, (bytes, all) => {
        const hash = new KeyedHash(Buffer.from(bytes));
        for (const text of all)
          expect(hash.of(text)).toBe(createHmac("sha256", bytes).update(text).digest("hex"));
      }),
    );
  });

  test.each([2_730, 2_731, 8_192, 100_000])(
    "a text of %i characters, however many bytes they take",
    (length) => {
      const bytes = Buffer.alloc(32, 7);
      for (const character of ["a", "é", "€", "\ud800"]) {
        const text = character.repeat(length);
        expect(new KeyedHash(bytes).of(text)).toBe(createHmac("sha256", bytes).update(text).digest("hex"));
      }
    },
  );
});
