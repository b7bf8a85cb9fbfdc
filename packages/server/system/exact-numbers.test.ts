import { rm } from "node:fs/promises";
import { connect, createServer } from "node:net";
import { AhpClient } from "@reins/ahp";
import { describe, expect, onTestFinished, test } from "vitest";
import { AcpClient, type Way } from "./fixtures/acp-client.ts";
import { openAgentHome } from "./fixtures/agent-home.ts";
import { serveAgents } from "./fixtures/agents.ts";
import { HaakSocket, serveHaak } from "./fixtures/haak.ts";
import type { Served } from "./fixtures/home.ts";
import { RpcClient } from "./fixtures/rpc-client.ts";

/** Two numbers that are one to JavaScript. */
const [ONE, OTHER] = ["9007199254740993", "9007199254740992"];
const RULES = `
tool_rules:
  - { name: begin, condition: { event: [session_start, pre_prompt] }, verdict: allowed }
  - { name: smaller, condition: { tool_name_matches: [big] }, verdict: modify, patch: { size: 1 } }
  - { name: settings, condition: { tool_name_matches: ["session/*", authenticate] }, verdict: allowed }
  - { name: known, condition: { tool_name_matches: [pay, Pay], arguments: { account: "*7" } }, verdict: blocked }
  - { name: rest, condition: {}, verdict: ask, reason: people decide }
`;

/** A home of a test's own, in which nothing is granted yet. */
async function newHome() {
  const home = await openAgentHome({ rules: RULES });
  onTestFinished(async () => {
    await home.close();
    await rm(home.base, { recursive: true, force: true });
  });
  return home;
}

/** A server behind a port that keeps every byte that clients get. */
async function recorded(served: Served) {
  let bytes = "";
  const { hostname, port } = new URL(served.address);
  const proxy = createServer((client) => {
    const server = connect(Number(port), hostname);
    client.pipe(server).pipe(client);
    server.on("data", (part) => (bytes += part.toString("latin1")));
    for (const end of [client, server])
      end.on("error", () => undefined).on("close", () => [client.destroy(), server.destroy()]);
  });
  await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void proxy.close());
  const address = proxy.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  const through: Served = Object.create(served, {
    address: { value: `http://127.0.0.1:${address.port}` },
  });
  return { through, bytes: () => bytes };
}

/** The approvals of a session that wait, as the bytes that the API gives. */
async function waiting(served: Served): Promise<string[]> {
  const { body } = await served.ask("GET", "/v1/approvals?state=pending");
  return Object(body).approvals.map(({ id }: { id: string }) => id);
}

/** Answers the only approval that waits, which has to be about exactly these digits. */
async function decide(served: Served, digits: string, decision: string): Promise<void> {
  await expect.poll(() => waiting(served)).toHaveLength(1);
  const [id] = await waiting(served);
  const { text } = await served.ask("GET", `/v1/approvals/${id}`);
  expect(text).toContain(`"account":${digits}`);
  expect(text).not.toContain(digits === ONE ? OTHER : ONE);
  const answered = await served.ask("POST", `/v1/approvals/${id}/answer`, { body: { decision } });
  expect([answered.status, answered.text]).toEqual([200, expect.stringContaining(digits)]);
}

/** Holds that a yes for one number counts for it alone, and that what is exported has all digits. */
async function expectExact(served: Served, pay: (digits: string) => Promise<string>): Promise<void> {
  const first = pay(ONE);
  await decide(served, ONE, "allow_always");
  expect(await first).toBe("yes");
  expect(await pay(ONE)).toBe("yes");
  const second = pay(OTHER);
  await decide(served, OTHER, "deny");
  expect(await second).toBe("no");
  const { text } = await served.ask("GET", "/v1/ledger/export");
  // A ledger holds a number that a double does not in the form of its format, and any other as it is.
  for (const recorded of [`{"$number":"${ONE}"}`, OTHER])
    expect(text.includes(`"account":${recorded}`), recorded).toBe(true);
}

describe("a number beyond double precision keeps its digits", () => {
  test("over /v1/rpc", async () => {
    const home = await newHome();
    const served = await serveAgents(home);
    const { through, bytes } = await recorded(served);
    const client = await RpcClient.open(through);
    const id = await client.begin(home.workspace);
    const stream = await client.stream();
    await expectExact(served, async (digits) => {
      const before = stream.said.length;
      await client.prompt(id, `pay ${digits}`);
      await expect.poll(() => stream.said.length).toBeGreaterThan(before);
      return String(stream.said.at(-1));
    });
    for (const digits of [ONE, OTHER])
      expect(bytes().includes(`"rawInput":{"account":${digits}}`), digits).toBe(true);
  });

  test.each<Way>(["http", "websocket"])("over /acp by %s", async (way) => {
    const home = await newHome();
    const served = await serveAgents(home);
    const { through, bytes } = await recorded(served);
    const client = await AcpClient.open(through, way, { agent: "stub" });
    client.choose = () => new Promise(() => undefined);
    const id = await client.begin(home.workspace);
    await expectExact(served, async (digits) => {
      const before = client.said.length;
      await client.prompt(id, `pay ${digits}`);
      await expect.poll(() => client.said.length).toBeGreaterThan(before);
      return String(client.said.at(-1));
    });
    for (const digits of [ONE, OTHER])
      expect(bytes().includes(`"rawInput":{"account":${digits}}`), digits).toBe(true);
  });

  test("over /ws", async () => {
    const { served } = await serveHaak({ home: await newHome() });
    const { through, bytes } = await recorded(served);
    const authorization = `Bearer ${served.access.token}`;
    const client = await HaakSocket.open(`${through.address}/ws`, { authorization });
    const { result } = await client.ask("session.init", { agent_id: "coder" });
    await expectExact(served, async (digits) => {
      const turn = await client.ask("turn.run", {
        session_key: result?.session_key,
        message: `pay ${digits}`,
      });
      return turn.events.flatMap(({ type, text }) => (type === "text_delta" ? [String(text)] : [])).join("");
    });
    for (const digits of [ONE, OTHER]) expect(bytes().includes(`"account":${digits}`), digits).toBe(true);
  });

  test("over /ahp", async () => {
    const home = await newHome();
    const served = await serveAgents(home);
    const { through, bytes } = await recorded(served);
    const auth = { method: { type: "bearer", token: served.access.token } } as const;
    const client = await AhpClient.connect(
      { type: "http", url: `${through.address}/ahp`, auth },
      { agentId: "coder", sessionId: "exact" },
    );
    onTestFinished(() => client.close());
    await client.handshake(["pre_action"]);
    const ask = (tool_name: string, digits: string) =>
      client.sendEvent("pre_action", { tool_name, arguments: { account: JSON.rawJSON(digits), size: 2 } });
    await expectExact(served, async (digits) => {
      for (;;) {
        const { decision } = await ask("pay", digits);
        if (decision !== "escalate") return decision === "allow" ? "yes" : "no";
        await expect.poll(() => waiting(served)).toEqual([]);
      }
    });
    await ask("big", ONE);
    expect(bytes()).toContain(`"account":${ONE}`);
  });
});
