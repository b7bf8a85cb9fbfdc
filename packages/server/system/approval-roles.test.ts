import { describe, expect, test } from "vitest";
import { agentsForAll, serveAgents } from "./fixtures/agents.ts";
import { Events } from "./fixtures/events.ts";
import { harnessForAll, Served } from "./fixtures/home.ts";
import { RpcClient } from "./fixtures/rpc-client.ts";

const harness = harnessForAll(`
tool_rules:
  - { name: plain, condition: { tool_name_matches: [plain] }, verdict: ask }
  - { name: eyes, condition: { tool_name_matches: [eyes] }, verdict: ask, four_eyes: true }
  - { name: two, condition: { tool_name_matches: [two] }, verdict: ask, quorum: 2 }
  - { name: named, condition: { tool_name_matches: [named] }, verdict: ask, approvers: [release] }
  - { name: both, condition: { tool_name_matches: [both] }, verdict: ask, approvers: [release], four_eyes: true }
`);
const TOOLS = ["plain", "eyes", "two", "named", "both"] as const;
const SECRET = "what-only-some-may-read";

/** Who looks: as whom the question is asked, and with which roles. */
const VIEWERS = [
  { who: "owner", roles: [] },
  { who: "owner", roles: ["release"] },
  { who: "owner", roles: ["admin"] },
  { who: "other", roles: [] },
  { who: "other", roles: ["member"] },
  { who: "other", roles: ["approver"] },
  { who: "other", roles: ["release"] },
  { who: "other", roles: ["admin"] },
] as const;

/** What a viewer may answer: everything, only deny, or nothing, which hides the approval. */
function expected(
  tool: (typeof TOOLS)[number],
  { who, roles }: { readonly who: string; readonly roles: readonly string[] },
): "all" | "no" | "nothing" {
  const wanted = tool === "named" || tool === "both" ? "release" : "approver";
  const holds = roles.includes("admin") || roles.includes(wanted);
  if (who === "other") return holds ? "all" : "nothing";
  if (tool === "eyes" || tool === "both" || tool === "two") return "no";
  return tool === "plain" || holds ? "all" : "no";
}

describe.each(TOOLS)("a question by the rule %s", (tool) => {
  test.each(VIEWERS)(
    "is visible to and answerable by the $who with $roles as the rule says",
    async ({ who, roles }) => {
      const served = await Served.open(harness());
      const { identity } = served.harness;
      const asker = await served.person({ roles: who === "owner" ? [...roles] : [] });
      const viewer = who === "owner" ? asker : await served.person({ roles: [...roles] });
      const as = viewer.secret;
      const { user } = (await identity.current({ id: asker.id }))!;
      const events = await Events.open(served, {}, as);
      await events.next();
      const may = expected(tool, { who, roles });
      const session = `${tool} ${who} ${roles}`;
      const put = (n: number) => served.question(session, "default", tool, { n, SECRET }, user);
      const id = await put(0);

      const listed = await served.ask("GET", "/v1/approvals?state=pending&limit=500", { as });
      const { approvals } = Object(listed.body);
      const found = approvals.find((one: { id: string }) => one.id === id);
      const shown = Object((await served.ask("GET", `/v1/approvals/${id}`, { as })).body);
      const told = Object((await events.next())?.data).approval;
      for (const seen of [found, shown, told])
        if (may === "nothing") {
          expect(Object.keys(seen).toSorted()).toEqual(
            ["agent", "created_at", "expires_at", "id", "state", "tenant", "withheld"].toSorted(),
          );
          expect(JSON.stringify(seen)).not.toMatch(new RegExp(`${SECRET}|SECRET|${tool}`));
        } else {
          expect(seen).toMatchObject({ id, tool, facts: { arguments: { SECRET } } });
          expect(seen.options).toEqual(may === "all" ? ["allow_once", "allow_always", "deny"] : ["deny"]);
        }

      for (const [n, decision] of (["allow_always", "allow_once", "deny"] as const).entries()) {
        const path = `/v1/approvals/${await put(n)}/answer`;
        const answer = await served.ask("POST", path, { as, body: { decision } });
        const passes = may === "all" || (may === "no" && decision === "deny");
        expect([decision, answer.status]).toEqual([decision, passes ? 200 : 403]);
        if (!passes) expect(answer.text).not.toContain(SECRET);
      }
      await served.harness.approvals.withdraw({ tenant: "default", session }, "the test is over");
    },
  );

  test("is invisible to admins of another tenant and to agents", async () => {
    const served = await Served.open(harness());
    const id = await served.question("elsewhere", "default", tool, { SECRET });
    const foreign = await served.person({ tenant: "acme", roles: ["admin", "approver", "release"] });
    const agent = await served.person({ kind: "agent", roles: ["admin", "approver", "release"] });
    for (const [{ secret: as }, status] of [
      [foreign, 404],
      [agent, 403],
    ] as const) {
      const body = { decision: "deny" };
      expect((await served.ask("GET", `/v1/approvals/${id}`, { as })).status).toBe(status);
      expect((await served.ask("POST", `/v1/approvals/${id}/answer`, { as, body })).status).toBe(status);
    }
    await served.harness.approvals.withdraw({ tenant: "default", session: "elsewhere" }, "over");
  });
});

describe("a quorum", () => {
  test("does not count the user who asks", async () => {
    const served = await Served.open(harness());
    const asker = await served.person({ roles: ["admin"] });
    const [one, other] = [
      await served.person({ roles: ["approver"] }),
      await served.person({ roles: ["approver"] }),
    ];
    const { user } = (await served.harness.identity.current({ id: asker.id }))!;
    const id = await served.question("quorum", "default", "two", {}, user);
    const body = { decision: "allow_once" };
    const path = `/v1/approvals/${id}/answer`;
    const states = [];
    for (const { secret: as } of [one, asker, other]) {
      const answer = await served.ask("POST", path, { as, body });
      states.push(answer.status === 200 ? Object(answer.body).state : answer.status);
    }
    expect(states).toEqual(["pending", 403, "approved"]);
  });
});

describe("a grant", () => {
  test("can be seen and revoked only by those it concerns", async () => {
    const served = await Served.open(harness());
    const [asker, outsider, approver] = [
      await served.person(),
      await served.person(),
      await served.person({ roles: ["approver"] }),
    ];
    const { user } = (await served.harness.identity.current({ id: asker.id }))!;
    const id = await served.question("grants", "default", "plain", { SECRET }, user);
    const body = { decision: "allow_always" };
    await served.ask("POST", `/v1/approvals/${id}/answer`, { as: asker.secret, body });
    const listed = async (as: string) => {
      const { body: page } = await served.ask("GET", `/v1/grants?user=${user}`, { as });
      return Object(page).grants.length;
    };
    expect(await Promise.all([asker, outsider, approver].map(({ secret }) => listed(secret)))).toEqual([
      1, 0, 1,
    ]);
    const [grant] = await served.harness.approvals.grants.list({ tenant: "default", user });
    const revoke = (as: string) => served.ask("DELETE", `/v1/grants/${grant?.id}`, { as });
    expect((await revoke(outsider.secret)).status).toBe(403);
    expect((await revoke(approver.secret)).status).toBe(200);
  });
});

describe("a question on its way to the clients of a session", () => {
  const home = agentsForAll({
    rules: `
tool_rules:
  - { name: begin, condition: { event: [session_start, pre_prompt] }, verdict: allowed }
  - { name: eyes, condition: {}, verdict: ask, four_eyes: true }
`,
  });

  test("offers each client the options it may choose, and ignores other answers", async () => {
    const served = await serveAgents(home());
    const [asker, admin] = [
      await served.person({ roles: ["admin"] }),
      await served.person({ roles: ["admin"] }),
    ];
    const own = await RpcClient.open(served, { as: asker.secret });
    const id = await own.begin(home().workspace);
    const other = await RpcClient.open(served, { as: admin.secret });
    await other.result("session/resume", { sessionId: id });
    const streams = [await own.stream(), await other.stream()] as const;
    const turn = own.prompt(id, "run npm test");
    await expect.poll(() => streams.map(({ asked }) => asked.length)).toEqual([1, 1]);
    const kinds = streams.map(({ asked: [first] }) =>
      Object(first?.params).options.map(({ kind }: { kind: string }) => kind),
    );
    expect(kinds).toEqual([["reject_once"], ["allow_once", "allow_always", "reject_once"]]);
    await own.answer(streams[0].asked[0] ?? {}, "allow_once");
    await expect.poll(() => streams[1].asked.length).toBe(2);
    expect(streams[1].said).toEqual([]);
    await other.answer(streams[1].asked[1] ?? {}, "allow_once");
    await turn;
    await expect.poll(() => streams[0].said).toEqual(["yes"]);
  });

  test("takes no yes from the admin who prompts in the session of another, nor from its owner", async () => {
    const served = await serveAgents(home());
    const [owner, asker, other] = [
      await served.person({ roles: ["admin"] }),
      await served.person({ roles: ["admin"] }),
      await served.person({ roles: ["admin"] }),
    ];
    const session = await (await RpcClient.open(served, { as: owner.secret })).begin(home().workspace);
    const client = await RpcClient.open(served, { as: asker.secret });
    await client.result("session/resume", { sessionId: session });
    const turn = client.prompt(session, "run npm test");
    const pending = async () => {
      const { body } = await served.ask("GET", `/v1/approvals?state=pending&session=${session}`);
      return Object(body).approvals as readonly { readonly id: string; readonly asked_by?: string }[];
    };
    await expect.poll(async () => (await pending()).length).toBe(1);
    const [approval] = await pending();
    const { user } = (await served.harness.identity.current({ id: asker.id }))!;
    expect(approval).toMatchObject({ asked_by: user, four_eyes: true });
    const answer = (as: string, decision: string) =>
      served.ask("POST", `/v1/approvals/${approval?.id}/answer`, { as, body: { decision } });
    for (const { secret } of [owner, asker]) expect((await answer(secret, "allow_once")).status).toBe(403);
    const shown = await served.ask("GET", `/v1/approvals/${approval?.id}`, { as: asker.secret });
    expect(Object(shown.body).options).toEqual(["deny"]);
    expect((await answer(other.secret, "allow_once")).status).toBe(200);
    await turn;
  });
});
