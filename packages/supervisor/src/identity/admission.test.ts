import { describe, expect, test } from "vitest";
import { SupervisorError } from "../errors.ts";
import { Admissions, type Vouched } from "./admission.ts";
import type { Principal } from "./principal.ts";
import type { Registry } from "./registry.ts";
import type { AdmittedToken } from "./tables/tables.ts";
import type { StoredToken } from "./tokens.ts";
import type { StoredUser, User } from "./users.ts";

const NOW = "2026-01-01T00:00:00.000Z";
const HOUR = 3_600_000;
const at = (hours: number) => new Date(Date.parse(NOW) + hours * HOUR);

const vouched = (own: Partial<Vouched> = {}): Vouched => ({
  origin: "issuer with its settings",
  issuerName: "corp",
  issuer: "https://login.example.com",
  subject: "ann",
  kind: "user",
  tenant: "acme",
  roles: ["member"],
  scopes: ["*"],
  agents: [],
  issued: at(0),
  expires: at(1),
  workMs: 2 * HOUR,
  ...own,
});

/** Admissions to a registry in memory, in which every write can be made to lose against another process. */
function openAdmissions() {
  const users = new Map<string, StoredUser>();
  const tokens = new Map<string, StoredToken & { readonly origin?: string; readonly issued?: string }>();
  const changes: unknown[] = [];
  const state = { conflicts: 0, refreshed: 0, gate: Promise.resolve(), changed: 0 };
  const principalOf = (id: string): Principal | undefined => {
    const token = tokens.get(id);
    const user = token && users.get(token.user);
    if (!token || !user || token.revoked !== undefined || user.removed !== undefined) return undefined;
    const { tenant, kind, agents } = token;
    return {
      ...{ id, tenant, kind, agents, user: user.id },
      roles: user.roles,
      scopes: user.scopes,
      started: "api",
    };
  };
  const registry = {
    directory: {
      principal: principalOf,
      expiryOf: ({ id }: { id: string }) => tokens.get(id)?.expires,
      issuedAt: ({ id }: { id: string }) => tokens.get(id)?.issued,
    },
    now: () => NOW,
    fresh: async () => {
      state.refreshed += 1;
    },
    query: async (name: string, { id }: { id: string }) => (name === "user" ? users.get(id) : tokens.get(id)),
    liveAtOnce: ({ id }: { id: string }) => principalOf(id),
    record: async (
      _: Principal,
      change: object,
      { args }: { readonly args: { readonly user: User; readonly token: AdmittedToken } },
    ) => {
      await state.gate;
      if (state.conflicts > 0) {
        state.conflicts -= 1;
        throw new SupervisorError("conflict", "another process changed it");
      }
      state.changed += 1;
      const changed = state.changed;
      changes.push(change);
      users.set(args.user.id, { ...args.user, removed: undefined, changed });
      const { token } = args;
      tokens.set(token.id, { ...token, role: undefined, revoked: undefined, hash: "", changed } as never);
    },
  };
  const admissions = new Admissions(registry as unknown as Registry);
  const admit = (own: Partial<Vouched> = {}) => admissions.admit(vouched(own));
  return { admit, users, tokens, changes, state };
}

describe("a user that an issuer vouches for", () => {
  test("gets the rights of its token, and one that says the same again changes nothing", async () => {
    const { admit, changes } = openAdmissions();
    const first = await admit();
    expect(first).toMatchObject({ user: "corp:ann", tenant: "acme", roles: ["member"], scopes: ["*"] });
    expect(await admit()).toEqual(first);
    expect(changes).toHaveLength(1);
  });

  test("is one principal whichever token it shows, and another in another tenant or of another issuer", async () => {
    const { admit } = openAdmissions();
    const { id } = await admit();
    expect((await admit({ issued: at(0.5) })).id).toBe(id);
    const others = await Promise.all([
      admit({ tenant: "other", subject: "ann-of-other" }),
      admit({ issuer: "https://else.example.com", issuerName: "else" }),
      admit({ subject: "bob" }),
    ]);
    expect(new Set([id, ...others.map((other) => other.id)]).size).toBe(4);
  });

  test("is changed once by requests that arrive together", async () => {
    const { admit, changes, state } = openAdmissions();
    const { promise, resolve } = Promise.withResolvers<void>();
    state.gate = promise;
    const all = [admit(), admit(), admit()];
    resolve();
    const ids = (await Promise.all(all)).map(({ id }) => id);
    expect(new Set(ids).size).toBe(1);
    expect(changes).toHaveLength(1);
  });

  test("whose first request fails is tried again by the next that waits", async () => {
    const { admit, state, changes } = openAdmissions();
    state.conflicts = 5;
    const [first, second] = await Promise.allSettled([admit(), admit()]);
    expect([first?.status, second?.status]).toEqual(["rejected", "fulfilled"]);
    expect(changes).toHaveLength(1);
  });

  test("keeps the newest rights: an older token brings back nothing", async () => {
    const { admit, users } = openAdmissions();
    await admit({ issued: at(1), roles: ["member"] });
    const older = await admit({ issued: at(0), expires: at(9), roles: ["admin"] });
    expect(older.roles).toEqual(["member"]);
    expect(users.get("corp:ann")?.roles).toEqual(["member"]);
    expect((await admit({ issued: at(2), expires: at(9), roles: ["auditor"] })).roles).toEqual(["auditor"]);
  });

  test("gets the rights of new settings of its issuer, also with an older token", async () => {
    const { admit } = openAdmissions();
    await admit({ issued: at(1) });
    const again = await admit({ issued: at(0), expires: at(9), origin: "other settings", roles: ["guest"] });
    expect(again.roles).toEqual(["guest"]);
  });

  test("is renewed before the time for its work is half over, and not sooner", async () => {
    const { admit, changes, tokens } = openAdmissions();
    const { id } = await admit();
    expect(tokens.get(id)?.expires).toBe(at(3).toISOString());
    await admit({ expires: at(1.9) });
    expect(changes).toHaveLength(1);
    await admit({ expires: at(2.1) });
    expect([changes.length, tokens.get(id)?.expires]).toEqual([2, at(4.1).toISOString()]);
  });

  test("never has less time than it was given", async () => {
    const { admit, tokens } = openAdmissions();
    const { id } = await admit({ expires: at(5) });
    await admit({ expires: at(1), issued: at(0.5), roles: ["other"] });
    expect(tokens.get(id)?.expires).toBe(at(7).toISOString());
  });

  test.each([
    ["Ann@example.com", "corp:Ann@example.com"],
    ["auth0|5f7c", /^corp:\+[\w-]{24}$/],
    ["", /^corp:\+/],
    ["ann/../root", /^corp:\+/],
    ["a".repeat(65), /^corp:\+/],
  ])("with the subject %j is called after it, or by its digest", async (subject, name) => {
    const { admit } = openAdmissions();
    expect((await admit({ subject })).user).toMatch(name);
  });
});

describe("a user is not admitted", () => {
  const code = (admitting: Promise<unknown>) =>
    admitting.then(
      () => "admitted",
      (error: unknown) => (error instanceof SupervisorError ? error.code : String(error)),
    );

  test("after it was removed, until it is added again", async () => {
    const { admit, users } = openAdmissions();
    await admit();
    const user = users.get("corp:ann");
    if (user) users.set("corp:ann", { ...user, removed: NOW });
    expect(await code(admit({ issued: at(1) }))).toBe("forbidden");
  });

  test("after its access was revoked, unless it was added again since then", async () => {
    const { admit, users, tokens } = openAdmissions();
    const { id } = await admit();
    const [user, token] = [users.get("corp:ann"), tokens.get(id)];
    if (!user || !token) throw new Error("it was not stored");
    tokens.set(id, { ...token, revoked: at(1).toISOString() });
    expect(await code(admit({ issued: at(2) }))).toBe("forbidden");
    users.set("corp:ann", { ...user, created: at(2).toISOString() });
    expect(await code(admit({ issued: at(3), expires: at(9) }))).toBe("admitted");
  });

  test("under the name of a user who was there before", async () => {
    const { admit, users } = openAdmissions();
    users.set("corp:ann", { id: "corp:ann", tenant: "acme", created: NOW, changed: 1 } as StoredUser);
    expect(await code(admit())).toBe("forbidden");
  });

  test("without an end, where every attempt loses against another process", async () => {
    const { admit, state } = openAdmissions();
    state.conflicts = 100;
    expect(await code(admit())).toBe("conflict");
    // One reading at the beginning, and one before each attempt but the first.
    expect([state.conflicts, state.refreshed]).toEqual([95, 5]);
    state.conflicts = 4;
    expect(await code(admit())).toBe("admitted");
  });
});
