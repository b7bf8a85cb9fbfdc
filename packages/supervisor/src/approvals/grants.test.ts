import { ManualClock } from "@reins/kit/manual-clock";
import { describe, expect, test } from "vitest";
import { actionOf, approvalFor, requestOf } from "../../test/approvals/requests.ts";
import type { ApprovalAnswer } from "./approval.ts";
import { type Grant, Grants } from "./grants.ts";
import { grantBindingOf } from "./request.ts";

const keyed = { digest: (purpose: string, text: string) => `${purpose}:${text}` };

/** Grants over a store in memory, of which every row is exactly what was kept. */
function grantsOf() {
  const clock = new ManualClock();
  const kept = new Map<string, Grant>();
  const recorded: { readonly payload: unknown }[] = [];
  const store = {
    query: async (_: unknown, name: string, args: { id: string; binding: string }) => {
      const found =
        name === "grant"
          ? kept.get(args.id)
          : [...kept.values()].find(
              ({ binding, revoked_at }) => binding === args.binding && revoked_at === undefined,
            );
      return found && { grant: found };
    },
  };
  const grants = new Grants({
    store: store as never,
    clock,
    keyed,
    randomId: () => "random",
    redact: (value) => value,
    atRest: { readGrant: ({ grant }: { grant: Grant }) => grant, grant: () => ({}) } as never,
    ledger: {
      record: async (drafts: { payload: unknown }[]) => {
        recorded.push(...drafts);
      },
    } as never,
  });
  const keep = (grant: Grant) => kept.set(grant.id, grant);
  return { grants, clock, keep, recorded };
}

const always = (own: Partial<ApprovalAnswer> = {}): ApprovalAnswer => ({
  ...{ by: "bob", decision: "allow_always", at: "2026-11-15T09:00:00.000Z" },
  ...own,
});

function approvalOf(
  own: Parameters<typeof requestOf>[0] = {},
  answers: readonly ApprovalAnswer[] = [always()],
) {
  return approvalFor(requestOf(own), new Date("2026-11-15T09:00:00.000Z"), { state: "approved", answers });
}

const words = (...given: string[]) => ({ words: given });
const exec = (...given: string[]) => {
  const [command = "", ...rest] = given;
  const effect = { kind: "exec", command, arguments: rest, opaque: true } as const;
  return actionOf({ tool: "bash", effects: [effect], arguments: { command: given.join(" ") } });
};

describe("a grant", () => {
  test("covers what the approval it came from asked, and is used by its id", async () => {
    const { grants, keep } = grantsOf();
    const grant = await grants.from(approvalOf());
    expect(grant).toMatchObject({
      ...{ id: "grt_random", tenant: "acme", user: "ann", agent: "reed", tool: "edit", by: ["bob"], uses: 0 },
      ...{ approval: "apr_x", cwd: "/w", effects: actionOf().effects },
    });
    expect(grant.expires_at).toBeUndefined();
    keep(grant);
    expect(await grants.grantFor(requestOf())).toBe(grant);
    expect(grants.useChange(grant)).toMatchObject({ name: "useGrant", args: { id: "grt_random" } });
  });

  test.each([
    ["another tool", { facts: actionOf({ tool: "other" }) }],
    ["another folder", { cwd: "/other" }],
    ["another effect", { facts: actionOf({ effects: [] }) }],
    ["another event", { event_type: "pre_prompt" }],
    ["other people to agree", { quorum: 2 }],
    ["other content of what is run", { input_state: { "/w/run.sh": "sha256:2" } }],
  ])("does not cover %s", async (_, other) => {
    const { grants, keep } = grantsOf();
    keep(await grants.from(approvalOf()));
    expect(await grants.grantFor(requestOf(other))).toBeUndefined();
  });

  test("ends after the shortest time that an answer names", async () => {
    const { grants, clock, keep } = grantsOf();
    const answers = [always({ grant_expires_ms: 60_000 }), always({ by: "carl", grant_expires_ms: 5_000 })];
    const grant = await grants.from(approvalOf({}, answers));
    expect(grant.expires_at).toBe("2026-11-15T09:00:05.000Z");
    keep(grant);
    clock.advance(4_999);
    expect(await grants.grantFor(requestOf())).toBe(grant);
    clock.advance(1);
    expect(await grants.grantFor(requestOf())).toBeUndefined();
  });

  test("that is in force already is kept, and one that cannot be read is replaced on record", async () => {
    const { grants, keep, recorded } = grantsOf();
    const grant = await grants.from(approvalOf());
    keep(grant);
    expect(await grants.from(approvalOf())).toBe(grant);
    keep({ ...grant, unreadable: "another key" });
    const next = await grants.from(approvalOf());
    expect(next).not.toHaveProperty("unreadable");
    expect(recorded).toMatchObject([{ payload: { state: "revoked", grant: "grt_random" } }]);
  });

  test("binds the arguments where the effects do not say all", async () => {
    const { grants } = grantsOf();
    expect(await grants.from(approvalOf())).not.toHaveProperty("arguments");
    expect(await grants.from(approvalOf({ facts: exec("make", "all") }))).toMatchObject({
      arguments: { command: "make all" },
    });
  });
});

describe("a grant for the beginning of a command", () => {
  const asked = { facts: exec("git", "push", "origin"), command: words("git", "push", "origin") };
  const prefix = ["git", "push"];

  test("covers what follows in the same folder, and no other command", async () => {
    const { grants, keep } = grantsOf();
    const grant = await grants.from(approvalOf(asked, [always({ prefix })]));
    expect(grant.prefix).toEqual(prefix);
    keep(grant);
    const other = (...given: string[]) =>
      grants.grantFor(requestOf({ facts: exec(...given), command: words(...given), target_state: {} }));
    expect(await other("git", "push", "backup")).toBe(grant);
    expect(await other("git", "push")).toBe(grant);
    expect(await other("git", "pull")).toBeUndefined();
    expect(await other("git", "push", "/etc/passwd")).toBeUndefined();
    expect(await other("git", "push", "../other")).toBeUndefined();
  });

  test("does not cover effects outside of the workspace that it was not given for", async () => {
    const { grants, keep } = grantsOf();
    keep(await grants.from(approvalOf(asked, [always({ prefix })])));
    const given = exec("git", "push", "x");
    const effects = [...given.effects, { kind: "net", host: "example.org" } as const];
    const request = requestOf({ facts: { ...given, effects }, command: words("git", "push", "x") });
    expect(await grants.grantFor(request)).toBeUndefined();
  });

  test.each([
    ["all name the same", [prefix, prefix], prefix],
    ["one names another", [prefix, ["git"]], undefined],
    ["one names none", [prefix, undefined], undefined],
  ])("is made where %s", async (_, prefixes, expected) => {
    const { grants } = grantsOf();
    const answers = prefixes.map((own, index) => always({ by: `p${index}`, ...(own && { prefix: own }) }));
    expect((await grants.from(approvalOf(asked, answers))).prefix).toEqual(expected);
  });
});

describe("revoking a grant", () => {
  const ann = { by: "user:acme/ann", tenant: "acme", roles: [] };

  test("ends it on record, by its user or an approver", async () => {
    const { grants, keep, recorded } = grantsOf();
    keep(await grants.from(approvalOf()));
    const revoked = await grants.revoke("grt_random", { ...ann, reason: "enough" });
    expect(revoked).toMatchObject({ revoked_by: "user:acme/ann" });
    expect(recorded).toMatchObject([{ actor: "user:acme/ann", payload: { reason: "enough" } }]);
  });

  test.each([
    ["there is none", "grt_other", ann, "not_found"],
    ["it is another user's", "grt_random", { ...ann, by: "user:acme/bob" }, "forbidden"],
    ["it is another tenant's", "grt_random", { ...ann, tenant: "zeta" }, "forbidden"],
    ["an agent asks", "grt_random", { ...ann, isAgent: true }, "forbidden"],
  ])("is rejected where %s", async (_, id, person, code) => {
    const { grants, keep } = grantsOf();
    keep(await grants.from(approvalOf()));
    await expect(grants.revoke(id, person)).rejects.toMatchObject({ code });
  });

  test("is a conflict where it was revoked already", async () => {
    const { grants, keep } = grantsOf();
    const grant = await grants.from(approvalOf());
    keep({ ...grant, revoked_at: "2026-11-15T09:00:00.000Z", revoked_by: "user:acme/bob" });
    await expect(grants.revoke("grt_random", ann)).rejects.toThrow(/was revoked by user:acme\/bob/);
  });
});

test("the bindings of grants and approvals are never the same", () => {
  const request = requestOf();
  expect(grantBindingOf({ ...request.subject, ...request }, keyed)).toMatch(/^grant:/);
});
