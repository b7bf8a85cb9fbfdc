import { createHmac } from "node:crypto";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it, test } from "vitest";
import { actionOf, subjectOf } from "../../test/approvals/requests.ts";
import { Redactor } from "../redaction/redactor.ts";
import {
  Commitment,
  KeyedHash,
  sessionKey,
  tenantPrefix,
  type VerdictRecord,
  verdictDraft,
  withoutSecrets,
} from "./record.ts";

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

  it("has no secret in it that is known by its form, wherever it occurred", () => {
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

describe("the key of a session's chain", () => {
  test.each([
    ["an agent outside of Reins", {}, "acme/reed:ahp:s1"],
    ["a hosted agent", { session_key: "reed:acp:s1" }, "acme/reed:acp:s1"],
    ["the default tenant", { tenant: "default" }, "reed:ahp:s1"],
    ["an agent with a colon in its name", { agent: "reed:acp" }, "acme/reed%3Aacp:ahp:s1"],
  ])("of %s", (_, own, key) => {
    expect(sessionKey(subjectOf(own))).toBe(key);
  });

  test("begins with the prefix of its tenant", () => {
    expect(tenantPrefix("default")).toBeUndefined();
    expect(sessionKey(subjectOf({ tenant: "zeta" })).startsWith(tenantPrefix("zeta") ?? "?")).toBe(true);
  });
});

describe("the entry of a verdict", () => {
  const input = {
    ...{ event_type: "pre_action", action: actionOf(), subject: subjectOf(), counters: { few: 1 }, at: 5 },
  };
  const decided = {
    verdict: "allowed",
    reason: "fine",
    rule: "edits",
    enforcement: "asked",
    entry: undefined,
  } as const;
  const hashes = { constitution_hash: "c", rules_hash: "r" };
  const base = { input, decided, hashes, argumentPaths: [], failedOpen: [] };
  const payloadOf = (record: VerdictRecord, commitment?: string) =>
    Object(verdictDraft(record, commitment).payload);

  test("says who, what, by which rule, and under which policy", () => {
    const draft = verdictDraft(base, "hmac-sha256:1");
    expect(draft).toMatchObject({
      quality: "policy_verdict",
      actor: "reed",
      target: "edit",
      entity_id: "acme/reed:ahp:s1",
      tags: ["verdict", "allowed"],
    });
    expect(draft.payload).toEqual({
      at: 5,
      constitution_hash: "c",
      counters: { few: 1 },
      enforcement: "asked",
      event_type: "pre_action",
      facts: { ...actionOf(), arguments: {} },
      payload_commitment: "hmac-sha256:1",
      reason: "fine",
      rule: "edits",
      rules_hash: "r",
      subject: subjectOf(),
      verdict: "allowed",
    });
  });

  test("has its members in the order in which they are recorded", () => {
    const modifiedFrom = { by: "rule", rule: "edits", patch: {}, input } as const;
    const failedOpen = [{ harness: "other", fail: "open", error: "gone" }] as const;
    const policy = { verdict: "ask", rule: "edits" } as const;
    const names = Object.keys(
      payloadOf(
        { ...base, decided: { ...decided, approval: "apr_1" }, modifiedFrom, failedOpen, policy },
        "h",
      ),
    );
    expect(names).toEqual(names.toSorted());
    expect(names).toContain("modified_from");
  });

  test.each([
    [["path"], { path: "a.txt" }],
    [["path", "missing"], { path: "a.txt" }],
    [["deep.inside"], { "deep.inside": 1 }],
    [["deep.inside.more"], {}],
    [["__proto__"], {}],
  ])("keeps of the arguments what the policy reads: %j", (argumentPaths, kept) => {
    const action = actionOf({ arguments: { path: "a.txt", deep: { inside: 1 }, other: "secret" } });
    const { facts } = payloadOf({ ...base, input: { ...input, action }, argumentPaths });
    expect(facts.arguments).toEqual(kept);
  });

  test.each([
    ["the same", { verdict: "allowed", rule: "edits" }, undefined],
    ["another verdict", { verdict: "ask", rule: "edits" }, { verdict: "ask", rule: "edits" }],
    ["another rule", { verdict: "allowed", rule: undefined }, { verdict: "allowed", rule: null }],
  ] as const)("names the policy's own verdict where it was overruled: %s", (_, policy, recorded) => {
    expect(payloadOf({ ...base, policy }).policy).toEqual(recorded);
  });

  test("carries the tag of the approval that settled it", () => {
    const { tags } = verdictDraft({ ...base, decided: { ...decided, approval: "apr_1" } });
    expect(tags).toEqual(["verdict", "allowed", "approval:apr_1"]);
  });

  test("leaves out facts from before a modification that are too large", () => {
    const action = actionOf({ doubts: ["x".repeat(300_000)] });
    const large = { by: "harness", harness: "other", input: { ...input, action } } as const;
    expect(payloadOf({ ...base, modifiedFrom: large }).modified_by).toEqual({
      harness: "other",
      at: 5,
      facts: null,
      counters: { few: 1 },
    });
    const small = { by: "rule", rule: "edits", patch: { path: "b" }, input } as const;
    expect(payloadOf({ ...base, modifiedFrom: small }).modified_from).toMatchObject({
      rule: "edits",
      patch: { path: "b" },
      facts: { tool: "edit" },
    });
  });
});
