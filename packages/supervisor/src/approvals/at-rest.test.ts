import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseExact } from "@reins/kit";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { actionOf, requestOf, subjectOf } from "../../test/approvals/requests.ts";
import { Vault } from "../record/vault.ts";
import { knownRedactor } from "../redaction/redactor.ts";
import type { Approval } from "./approval.ts";
import { AtRest } from "./at-rest.ts";
import type { Grant } from "./grants.ts";
import { type ApprovalRequest, newApproval } from "./request.ts";
import type { KeptForm, StoredApproval, StoredGrant } from "./tables.ts";

const TOKEN = `ghp_${"a1B2".repeat(9)}`;
const DIGEST = "0f".repeat(32);
const BIG = "12345678901234567890.10";

let folder: string;
let atRest: AtRest;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "at-rest-"));
  atRest = await open("one");
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function open(name: string): Promise<AtRest> {
  const vault = await Vault.open(join(folder, name));
  const keyed = { digest: (purpose: string, text: string) => `keyed(${purpose},${text.length})` };
  return new AtRest({ vault, keyed, redactor: knownRedactor() });
}

function approvalOf(own: Partial<ApprovalRequest> = {}): Approval {
  const request = requestOf({ subject: subjectOf(), ...own });
  const made = newApproval(request, { id: "apr_1", binding: "b".repeat(64), now: new Date(0) });
  return { ...made, entry: "cid-1" };
}

/** What the store gives back of a form that it was given. */
function storedFrom(approval: Approval, { body, sealed }: KeptForm, waits = true): StoredApproval {
  const { state, answers, entry, turn } = approval;
  const own = { state, answers, entry, ...(turn !== undefined && { turn }) };
  return { approval: { ...JSON.parse(body), ...own }, version: 1, waits, sealed };
}

const GRANT: Grant = {
  ...{ id: "gra_1", tenant: "acme", user: "ann", agent: "reed", chain: [], enforcement: "asked" },
  ...{ event_type: "pre_action", tool: "bash", effects: [], cwd: "/w", binding: "c".repeat(64) },
  ...{ approval: "apr_1", by: ["ann"], created_at: new Date(0).toISOString(), uses: 2 },
};

describe("an approval on the disk", () => {
  const secret = approvalOf({
    facts: actionOf({ tool: "bash", effects: [], arguments: { command: `curl -H 'x: ${TOKEN}'` } }),
    reason: `it sends ${TOKEN}`,
    rule: "sends",
  });

  test("holds no secret, neither readable nor beside the sealed form", () => {
    const { body, sealed } = atRest.approval(secret);
    expect(body).not.toContain(TOKEN);
    expect(sealed).not.toContain(TOKEN);
    expect(JSON.parse(body)).toMatchObject({ tool: "bash", rule: "sends" });
  });

  test("holds no word that only the arguments mark as a secret", () => {
    const facts = actionOf({ tool: "login", effects: [], arguments: { password: "open-sesame-9" } });
    const { body } = atRest.approval(approvalOf({ facts, reason: "the password open-sesame-9 is weak" }));
    expect(body).not.toContain("open-sesame-9");
  });

  test("holds no secret of the rule or of the words of the command, which are sealed as well", () => {
    const command = { words: ["curl", TOKEN], folder: "/w" };
    const approval = { ...approvalOf({ rule: `rule ${TOKEN}` }), command } as Approval;
    const form = atRest.approval(approval);
    expect(form.body).not.toContain(TOKEN);
    expect(atRest.readApproval(storedFrom(approval, form))).toMatchObject({ rule: `rule ${TOKEN}`, command });
  });

  test("is read exactly as it was, as long as it waits", () => {
    expect(atRest.readApproval(storedFrom(secret, atRest.approval(secret)))).toEqual(secret);
  });

  test("is read without its secrets once it is over", () => {
    const over = atRest.readApproval(storedFrom(secret, atRest.approval(secret), false));
    expect(JSON.stringify(over)).not.toContain(TOKEN);
    expect(over).toMatchObject({ id: "apr_1", tool: "bash" });
    expect(over).not.toHaveProperty("unreadable");
  });

  test("keeps its numbers to the digit, waiting or not", () => {
    const facts = actionOf({ arguments: parseExact(`{"amount":${BIG}}`) });
    const approval = approvalOf({ facts });
    const form = atRest.approval(approval);
    for (const waits of [true, false]) {
      const read = atRest.readApproval(storedFrom(approval, form, waits));
      expect(JSON.stringify(read.facts.arguments), String(waits)).toBe(`{"amount":${BIG}}`);
    }
  });

  test("holds digests of files under our key alone, and the exact ones sealed", () => {
    const state = { "/w/pin": `sha256:${DIGEST}`, "/w/none": "absent" };
    const approval = approvalOf({ target_state: state, input_state: state });
    const form = atRest.approval(approval);
    expect(form.body).not.toContain(DIGEST);
    const { target_state } = JSON.parse(form.body);
    expect(target_state["/w/pin"]).toMatch(/^hmac-sha256:keyed\(target,\d+\)$/);
    expect(target_state["/w/none"]).toBe("absent");
    expect(atRest.readApproval(storedFrom(approval, form))).toMatchObject({
      target_state: state,
      input_state: state,
    });
  });

  test.each<[string, (stored: StoredApproval) => StoredApproval]>([
    ["another approval", (stored) => ({ ...stored, approval: { ...stored.approval, id: "apr_2" } })],
    [
      "something else to allow",
      (stored) => ({ ...stored, approval: { ...stored.approval, binding: "d".repeat(64) } }),
    ],
    ["a form that was changed", (stored) => ({ ...stored, sealed: `${stored.sealed?.slice(0, -2)}xx` })],
    ["a form that is none", (stored) => ({ ...stored, sealed: "v1.zz" })],
    ["no form", ({ sealed: _, ...stored }) => stored],
  ])("takes nothing but a no where it has %s", (_, changed) => {
    const stored = changed(storedFrom(secret, atRest.approval(secret)));
    const read = atRest.readApproval(stored);
    expect(read.options).toEqual(["deny"]);
    expect(read.unreadable).toContain("backup");
    expect(JSON.stringify(read)).not.toContain(TOKEN);
  });

  test("takes nothing but a no in a home with another key, which is named", async () => {
    const other = await open("other");
    const read = other.readApproval(storedFrom(secret, atRest.approval(secret)));
    expect(read).toMatchObject({ options: ["deny"], unreadable: expect.stringContaining("vault.key") });
  });

  test("is read with the change that left it so", () => {
    const stored = storedFrom(secret, atRest.approval(secret));
    const change = atRest.readChange({ seq: 3, at: "t", entry: "cid-3", stored });
    expect(change).toEqual({ seq: 3, at: "t", entry: "cid-3", approval: secret });
  });
});

describe("a grant on the disk", () => {
  const grant: Grant = {
    ...GRANT,
    arguments: { command: `deploy ${TOKEN}` },
    input_state: { "/w/run.sh": DIGEST },
    prefix: ["deploy"],
  };
  const storedOf = (own: Partial<Grant> = {}): StoredGrant => {
    const { body, sealed } = atRest.grant(grant);
    return { grant: { ...JSON.parse(body), uses: 2, ...own }, sealed };
  };

  test("holds no secret, no digest and none of what changes with its use", () => {
    const { body, sealed } = atRest.grant({ ...grant, revoked_at: "now", revoked_by: "ann", used_at: "now" });
    for (const text of [TOKEN, DIGEST]) expect(`${body}${sealed}`).not.toContain(text);
    const kept: object = JSON.parse(body);
    expect(Object.keys(kept)).not.toEqual(expect.arrayContaining(["uses"]));
    for (const name of ["revoked_at", "revoked_by", "used_at"]) expect(kept).not.toHaveProperty(name);
  });

  test("is read exactly while it is in force", () => {
    expect(atRest.readGrant(storedOf())).toEqual(grant);
  });

  test("is read without its secrets once it is revoked", () => {
    const read = atRest.readGrant(storedOf({ revoked_at: "2026-02-04T09:00:00.000Z" }));
    expect(JSON.stringify(read)).not.toContain(TOKEN);
    expect(read).not.toHaveProperty("unreadable");
  });

  test("does not count where its form is that of another, or is gone", () => {
    const { sealed: _, ...bare } = storedOf();
    for (const stored of [storedOf({ binding: "e".repeat(64) }), storedOf({ id: "gra_2" }), bare])
      expect(atRest.readGrant(stored).unreadable).toContain("backup");
  });

  test("is not opened with the form of an approval", () => {
    const approval = { ...approvalOf(), id: grant.id, binding: grant.binding };
    const { sealed } = atRest.approval(approval);
    expect(atRest.readGrant({ ...storedOf(), sealed }).unreadable).toContain("another place");
  });
});
