import { AhpClient } from "@reins/ahp";
import { describe, expect, onTestFinished, test } from "vitest";
import { harnessForAll, Served } from "./fixtures/home.ts";

const harness = harnessForAll();

async function agentOf(served: Served, token: string, session: string) {
  const auth = { method: { type: "bearer", token } } as const;
  const url = `${served.address}/ahp`;
  const client = await AhpClient.connect(
    { type: "http", url, auth },
    { agentId: "coder", sessionId: session },
  );
  onTestFinished(() => client.close());
  await client.handshake(["pre_action"]);
  return client;
}

describe("an agent's question", () => {
  const deploy = { tool_name: "deploy", arguments: { to: "prod" } };

  test("can be answered over HTTP once", async () => {
    const served = await Served.open(harness());
    const ann = await served.person();
    const agent = await agentOf(served, ann.secret, "journey");
    const asked = await agent.sendEvent("pre_action", deploy);
    expect(asked).toMatchObject({ decision: "escalate", reason: "careful" });

    const listed = await served.ask("GET", "/v1/approvals?state=pending&session=journey", { as: ann.secret });
    expect(listed).toMatchObject({
      status: 200,
      body: { approvals: [{ tool: "deploy", state: "pending" }] },
    });
    const { id } = Object(listed.body).approvals[0];
    const shown = await served.ask("GET", `/v1/approvals/${id}`, { as: ann.secret });
    expect(shown.body).toMatchObject({ id, description: expect.stringContaining('with: {"to":"prod"}') });

    const answer = { decision: "allow_once", note: "go on" };
    const path = `/v1/approvals/${id}/answer`;
    const [first, second] = await Promise.all([
      served.ask("POST", path, { as: ann.secret, body: answer }),
      served.ask("POST", path, { body: { decision: "deny" } }),
    ]);
    expect([first.status, second.status].toSorted()).toEqual([200, 409]);
    const late = await served.ask("POST", path, { body: answer });
    expect(late).toMatchObject({ status: 409, body: { code: "conflict" } });

    const decision = await agent.sendEvent("pre_action", deploy);
    expect(decision.decision).toBe(first.status === 200 ? "allow" : "block");
  });

  test("is answered as the token's principal, whatever the body claims", async () => {
    const served = await Served.open(harness());
    const id = await served.question("signed");
    const body = { decision: "deny", by: "user:default/other" };
    expect((await served.ask("POST", `/v1/approvals/${id}/answer`, { body })).status).toBe(400);
    await served.ask("POST", `/v1/approvals/${id}/answer`, { body: { decision: "deny" } });
    expect((await served.ask("GET", `/v1/approvals/${id}`)).body).toMatchObject({
      state: "denied",
      answers: [{ by: "user:default/operator", decision: "deny" }],
    });
  });

  test("cannot be seen or answered by an agent", async () => {
    const served = await Served.open(harness());
    const agent = await served.person({ kind: "agent", roles: ["admin"] });
    const id = await served.question("agents");
    const as = agent.secret;
    const answer = await served.ask("POST", `/v1/approvals/${id}/answer`, {
      as,
      body: { decision: "allow_once" },
    });
    expect(answer).toMatchObject({ status: 403, body: { code: "forbidden" } });
    expect((await served.ask("GET", `/v1/approvals/${id}`, { as })).status).toBe(403);
    expect((await served.ask("GET", "/v1/approvals", { as })).status).toBe(403);
    expect((await served.ask("GET", "/v1/approvals/stream", { as })).status).toBe(403);
    expect((await served.ask("GET", `/v1/approvals/${id}`)).body).toMatchObject({ state: "pending" });
  });

  test("is unknown in another tenant", async () => {
    const served = await Served.open(harness());
    const outsider = await served.person({ tenant: "acme", roles: ["admin"] });
    const as = outsider.secret;
    const id = await served.question("private");
    expect((await served.ask("GET", `/v1/approvals/${id}`, { as })).status).toBe(404);
    const body = { decision: "deny" };
    expect((await served.ask("POST", `/v1/approvals/${id}/answer`, { as, body })).status).toBe(404);
    expect((await served.ask("GET", "/v1/approvals", { as })).body).toEqual({ approvals: [] });
    const beyond = await served.ask("GET", `/v1/approvals?after=${id}`, { as });
    expect(beyond.body).toEqual({ approvals: [] });
    expect((await served.ask("GET", `/v1/approvals/${id}`)).body).toMatchObject({ state: "pending" });
  });

  test("cannot be answered after the token is revoked", async () => {
    const served = await Served.open(harness());
    const ann = await served.person();
    const auth = { method: { type: "bearer", token: ann.secret } } as const;
    const url = `${served.address.replace("http", "ws")}/ahp`;
    const client = await AhpClient.connect({ type: "websocket", url, auth }, { reconnect: false });
    onTestFinished(() => client.close());
    await client.handshake(["pre_action"]);
    expect(await client.sendEvent("pre_action", { tool_name: "ls" })).toMatchObject({
      decision: "allow",
    });
    await served.harness.identity.revokeToken(ann.id);
    expect(await client.sendEvent("pre_action", { tool_name: "ls" })).toMatchObject({
      decision: "block",
      reason: expect.stringContaining("the token is no longer valid"),
    });
  });
});

describe("many questions", () => {
  test("are listed in pages, in either order", async () => {
    const served = await Served.open(harness());
    const ids: string[] = [];
    for (let n = 0; n < 5; n += 1) ids.push(await served.question("pages", "default", "deploy", { n }));
    const pages = async (order: string) => {
      const found: string[] = [];
      for (let after = ""; ; ) {
        const query = `session=pages&limit=2&order=${order}${after && `&after=${after}`}`;
        const { body } = await served.ask("GET", `/v1/approvals?${query}`);
        found.push(...Object(body).approvals.map(({ id }: { id: string }) => id));
        after = Object(body).next;
        if (after === undefined) return found;
      }
    };
    expect(await pages("oldest")).toEqual(ids);
    expect(await pages("newest")).toEqual(ids.toReversed());
  });
});

describe('a grant of an "always" answer', () => {
  test("is listed, applies, and can be revoked once, only within its tenant", async () => {
    const served = await Served.open(harness());
    const id = await served.question("always", "default", "deploy", { always: true });
    const body = { decision: "allow_always", grant_expires_ms: 60_000 };
    expect((await served.ask("POST", `/v1/approvals/${id}/answer`, { body })).status).toBe(200);
    const listed = await served.ask("GET", "/v1/grants?agent=coder&user=ann");
    const grant = Object(listed.body).grants.find(({ approval }: { approval: string }) => approval === id);
    expect(grant).toMatchObject({
      tool: "deploy",
      by: ["user:default/operator"],
      expires_at: expect.any(String),
    });
    const outsider = await served.person({ tenant: "acme", roles: ["admin"] });
    const foreign = await served.ask("DELETE", `/v1/grants/${grant.id}`, { as: outsider.secret });
    expect(foreign.status).toBe(404);
    const agent = await served.person({ kind: "agent" });
    expect((await served.ask("DELETE", `/v1/grants/${grant.id}`, { as: agent.secret })).status).toBe(403);
    const revoked = await served.ask("DELETE", `/v1/grants/${grant.id}`);
    expect(revoked.body).toMatchObject({ id: grant.id, revoked_by: "user:default/operator" });
    expect((await served.ask("DELETE", `/v1/grants/${grant.id}`)).status).toBe(409);
  });
});
