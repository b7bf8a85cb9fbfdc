import { AhpClient, type Transport } from "@reins/ahp";
import { describe, expect, it } from "vitest";
import { OperatedHome } from "./support/operated-home.ts";
import type { Reins } from "./support/reins.ts";

const SECRET = /^reins_[A-Za-z0-9_-]{43}\n$/;
const ANN = ["--name", "Ann Reed", "--email", "ann@example.com"];
const BOB = ["--name", "Bob", "--email", "bob@acme.example", "--tenant", "acme"];

/** A way in over HTTP or WebSocket with a token. */
function way(reins: Reins, type: "http" | "websocket", token: string): Transport {
  return { type, url: reins.addressOf(type), auth: { method: { type: "bearer", token } } };
}

/** The address of the API. */
function apiOf(reins: Reins): string {
  return new URL(reins.addressOf("http")).origin;
}

describe("users and tokens", () => {
  it("are added, changed, listed and removed", async () => {
    const home = new OperatedHome();
    await home.up();
    const added = await home.done("user", "add", "ann", ...ANN, "--role", "admin,builder", "--scopes", "b,a");
    expect(added).toBe(
      [
        "user    ann of tenant default",
        "name    Ann Reed",
        "email   ann@example.com",
        "roles   admin, builder",
        "scopes  a, b",
        "",
      ].join("\n"),
    );
    expect(await home.run("user", "add", "ann", ...ANN)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('There is a user "ann" already.\n'),
    });
    expect(await home.json("user", "set", "ann", "--scopes", "")).toMatchObject({
      scopes: [],
      roles: ["admin", "builder"],
    });
    expect(await home.done("user", "list")).toMatch(
      /^ann +Ann Reed +ann@example\.com +admin, builder +none$/m,
    );
    expect((await home.run("user", "set", "ann", "--email", "nowhere")).stderr).toContain(
      "email: has to be an email address",
    );
    const token = await home.json(
      "token",
      "create",
      "--user",
      "ann",
      "--expires",
      "30d",
      "--role",
      "builder",
    );
    expect(await home.done("token", "list")).toMatch(
      new RegExp(`^${token.id} +ann +user +in \\d+d +none +all +builder$`, "m"),
    );
    await home.done("user", "remove", "ann");
    expect(await home.done("token", "list")).toBe("There are none.\n");
    expect((await home.run("user", "remove", "ann")).code).toBe(1);
    expect((await home.run("token", "create", "--user", "ann")).stderr).toContain('There is no user "ann".');
  });

  it("have secrets that are shown once, alone, and never again", async () => {
    const home = new OperatedHome();
    await home.up();
    await home.done("user", "add", "ann", ...ANN);
    const { code, stdout, stderr } = await home.run(
      "token",
      "create",
      "--user",
      "ann",
      "--agents",
      "reed,fox",
    );
    expect(code).toBe(0);
    expect(stdout).toMatch(SECRET);
    expect(stderr).toMatch(/^reins: tok_\S{16}: its secret is on stdout, this once; it is not stored\.$/m);
    const listed = await home.json("token", "list");
    expect(listed.tokens).toMatchObject([
      { user: "ann", agents: ["fox", "reed"], started: "api", kind: "user" },
    ]);
    expect(JSON.stringify(listed)).not.toContain(stdout.trim());
    const id: string = listed.tokens[0].id;
    expect(await home.done("token", "revoke", id.slice(0, 10))).toContain(`revoked  ${id}\n`);
    expect((await home.run("token", "revoke", id)).stderr).toContain("was revoked already");
    expect(await home.done("token", "list", "--all")).toContain("revoked");
  });
});

describe("users and tokens, while nothing runs", () => {
  it("are made and ended all the same, and count once Reins is up", async () => {
    const home = await OperatedHome.begun();
    await home.done("user", "add", "ann", ...ANN);
    const [kept, ended] = [
      await home.json("token", "create", "--user", "ann", "--agents", "native"),
      await home.json("token", "create", "--user", "ann", "--agents", "native"),
    ];
    await home.done("token", "revoke", ended.id);
    expect(await home.json("token", "list")).toMatchObject({ tokens: [{ id: kept.id }] });
    const reins = await home.up();
    expect(await home.decide({ transport: way(reins, "http", kept.secret) })).toMatchObject({
      decision: "escalate",
    });
    await expect(home.decide({ transport: way(reins, "http", ended.secret) })).rejects.toThrow("401");
  });
});

describe("a token", () => {
  it("lets an agent in over HTTP as whom it may act, and no more once it is revoked", async () => {
    const home = new OperatedHome();
    const reins = await home.up();
    await home.done("user", "add", "ann", ...ANN);
    const { id, secret } = await home.json("token", "create", "--user", "ann", "--agents", "native");
    const transport = way(reins, "http", secret);
    const approval = await home.ask({ transport });
    expect(await home.json("approvals", "show", approval)).toMatchObject({ user: "ann", agent: "native" });
    // It says that it is another agent than its token vouches for.
    expect(await home.decide({ transport, agent: "claude" })).toMatchObject({ decision: "block" });
    await home.done("token", "revoke", id);
    await expect(home.decide({ transport })).rejects.toThrow("401");
  });

  it("that is revoked counts no more on a connection that stays open", async () => {
    const home = new OperatedHome();
    const reins = await home.up();
    await home.done("user", "add", "ann", ...ANN);
    const { id, secret } = await home.json("token", "create", "--user", "ann", "--agents", "native");
    const options = { reconnect: false, agentId: "native", onFailure: "throw" } as const;
    const client = await AhpClient.connect(way(reins, "websocket", secret), options);
    try {
      await client.handshake(["pre_action"]);
      const decide = () =>
        client.sendEvent("pre_action", { tool_name: "bash", arguments: { command: "ls" } });
      expect(await decide()).toMatchObject({ decision: "allow" });
      await home.done("token", "revoke", id);
      const after = await decide().catch((error: unknown) => ({ decision: "refused", error }));
      expect(["block", "refused"]).toContain(after.decision);
    } finally {
      await client.close();
    }
  });

  it("of one tenant sees and answers nothing of another", async () => {
    const home = new OperatedHome();
    const reins = await home.up();
    await home.done("user", "add", "ann", ...ANN, "--role", "admin");
    await home.done("user", "add", "bob", ...BOB, "--role", "admin", "--scopes", "*");
    const create = async (...args: string[]): Promise<string> =>
      (await home.json("token", "create", ...args)).secret;
    const ann = await create("--user", "ann", "--agents", "native");
    const bob = await create("--user", "bob", "--tenant", "acme", "--agents", "native");
    await reins.printed("rules are in force for acme");
    const [anns, bobs] = [
      await home.ask({ transport: way(reins, "http", ann) }),
      await home.ask({ transport: way(reins, "http", bob) }),
    ];
    const as = (token: string) => ["--url", apiOf(reins), "--token", token];
    const idOf = async (token: string) =>
      (await home.json("approvals", "list", ...as(token))).approvals[0].id;
    expect([await idOf(ann), await idOf(bob)]).toEqual([anns, bobs]);
    for (const [token, id] of [
      [ann, bobs],
      [bob, anns],
    ] as const) {
      expect((await home.run("approvals", "approve", id, ...as(token))).stderr).toContain(
        `There is no approval ${id}.`,
      );
      expect((await home.run("approvals", "show", id, ...as(token))).code).toBe(1);
    }
    expect(await home.json("user", "list", ...as(bob))).toMatchObject({ users: [{ id: "bob" }] });
    expect((await home.run("user", "list", "--tenant", "default", ...as(bob))).stderr).toContain(
      'There is no tenant "default".',
    );
    expect((await home.run("roster", "add", "fox", ...as(bob))).code).toBe(1);
    expect(await home.json("approvals", "deny", bobs, ...as(bob))).toMatchObject({
      state: "denied",
      answers: [{ by: "user:acme/bob", decision: "deny" }],
    });
    expect(await home.json("user", "list", "--tenant", "acme")).toMatchObject({ users: [{ id: "bob" }] });
  });

  it("of an agent answers no approvals", async () => {
    const home = new OperatedHome();
    const reins = await home.up();
    await home.done("user", "add", "ann", ...ANN, "--role", "admin");
    const { secret } = await home.json("token", "create", "--user", "ann", "--kind", "agent");
    const id = await home.ask();
    const { code, stderr } = await home.run(
      "approvals",
      "approve",
      id,
      "--url",
      apiOf(reins),
      "--token",
      secret,
    );
    expect(code).toBe(1);
    expect(stderr).toContain("An agent may not ask for this; a person has to.");
    expect(await home.json("approvals", "show", id)).toMatchObject({ state: "pending", answers: [] });
  });
});
