import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AhpClient } from "@reins/ahp";
import { type ConversationEvent, connect, InterruptedError, type ReinsClient } from "@reins/sdk";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { PostgresServer, postgresFolder } from "../../store/test/postgres-server.ts";
import torture from "../torture/nodes.torture.ts";
import { TestCluster } from "./support/cluster.ts";
import { HaakClient } from "./support/haak-client.ts";

let server: PostgresServer;

async function startCluster(...names: string[]): Promise<TestCluster> {
  const cluster = await TestCluster.start(server.address(), names);
  onTestFinished(() => cluster.close());
  return cluster;
}

/** A client of the SDK, by default of the operator through the balancer. */
async function client(cluster: TestCluster, url = cluster.url, token = cluster.token): Promise<ReinsClient> {
  const reins = await connect(url, { token });
  onTestFinished(() => reins.close());
  return reins;
}

/** What AHP at an address decides about a look at the workspace. */
async function decideOver(address: string, token: string) {
  const to = { url: address, auth: { method: { type: "bearer", token } } } as const;
  const isSocket = address.startsWith("ws");
  const transport = isSocket ? ({ type: "websocket", ...to } as const) : ({ type: "http", ...to } as const);
  const options = { reconnect: false, onFailure: "throw", agentId: "native", sessionId: "s1" } as const;
  const ahp = await AhpClient.connect(transport, options);
  try {
    await ahp.handshake(["pre_action"]);
    return await ahp.sendEvent("pre_action", { tool_name: "list_files", arguments: { path: "." } });
  } finally {
    await ahp.close();
  }
}

/** A request to end something. */
function orderFor(target: object): RequestInit {
  return { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(target) };
}

/** The numbers that an agent counted. */
function numbersIn(events: readonly ConversationEvent[]): string[] {
  return events.flatMap((event) => (event.type === "text" ? (/^(\d+) $/.exec(event.text)?.[1] ?? []) : []));
}

/** The approval that waits, as a node lists it. */
async function pending(cluster: TestCluster, node: string): Promise<string> {
  const first = async () => {
    const { body } = await cluster.ask("/v1/approvals?state=pending", { url: cluster.urlOf(node) });
    return body.approvals?.[0]?.id;
  };
  await expect.poll(first, { timeout: 60_000 }).toMatch(/^apr_/);
  return first();
}

describe.skipIf(postgresFolder === undefined)("three nodes on one database", { timeout: 300_000 }, () => {
  beforeAll(async () => {
    server = await PostgresServer.start();
  });
  afterAll(() => server.stop());

  it("are one Reins: a prompt through one is asked about through another, and seen through the third", async () => {
    const cluster = await startCluster("a", "b", "c");
    const { workspace } = cluster;
    const a = await client(cluster, cluster.urlOf("a"));
    const b = await client(cluster, cluster.urlOf("b"));
    const c = await client(cluster, cluster.urlOf("c"));
    const session = await a.sessions.create({ agent: "native", cwd: workspace });
    const turn = session.prompt("run `make asked; echo done > made`").result();
    const id = await pending(cluster, "b");
    const followed = await c.sessions.resume(session.id);
    await b.approvals.answer(id, "allow_once");
    expect(await turn).toMatchObject({ stopReason: "end_turn" });
    expect(await readFile(join(workspace, "made"), "utf8")).toBe("done\n");
    const seen = [];
    for await (const event of followed.history()) seen.push(event.type);
    expect(seen).toContain("tool");
  });

  it("lose nothing that a client has seen when the one that serves it is killed, and go on through another", async () => {
    const cluster = await startCluster("a", "b", "c");
    const reins = await client(cluster);
    const session = await reins.sessions.create({ agent: "scripted", cwd: cluster.workspace });
    const owner = await cluster.ownerOf();
    const seen: ConversationEvent[] = [];
    const counted = (async () => {
      for await (const event of session.prompt("count 100000")) {
        if (event.type !== "end") seen.push(event);
        if (numbersIn(seen).length === 300) await cluster.kill(owner);
      }
    })();
    await expect(counted).rejects.toBeInstanceOf(InterruptedError);
    const stored: ConversationEvent[] = [];
    for await (const event of session.history()) stored.push(event);
    const numbers = numbersIn(seen);
    expect(numbers.length).toBeGreaterThanOrEqual(300);
    expect(numbers).toEqual(numbers.map((_, index) => `${index + 1}`));
    expect(numbersIn(stored)).toEqual(numbers);
    expect((await session.prompt("count 3").result()).text).toBe("1 2 3 ");
    expect(await cluster.ownerOf()).not.toBe(owner);
    await cluster.restart(owner);
    expect((await session.prompt("count 4").result()).text).toBe("1 2 3 4 ");
    const [left] = [...(await cluster.serving()).keys()].filter((name) => name !== owner);
    expect(await cluster.node(left ?? "").home.run("ledger", "verify")).toMatchObject({ code: 0 });
  });

  it("hand over when one drains, end what runs wherever it runs, and have one constitution", async () => {
    const cluster = await startCluster("a", "b", "c");
    const { home } = cluster.node("a");
    await home.done("user", "add", "ann", "--tenant", "acme", "--name", "Ann", "--email", "ann@example.com");
    const made = await home.json(
      "token",
      "create",
      "--user",
      "ann",
      "--tenant",
      "acme",
      "--agents",
      "*",
      "--started",
      "interactive",
    );
    const reins = await client(cluster);
    const ann = await client(cluster, cluster.url, made.secret);
    const sessions = [
      await reins.sessions.create({ agent: "scripted", cwd: cluster.workspace }),
      await ann.sessions.create({ agent: "scripted" }),
    ];
    const owner = await cluster.ownerOf();
    expect(await cluster.ownerOf("acme")).not.toBe(owner);

    // A turn that runs ends where it began; the next one begins on another node.
    const [session] = sessions;
    if (!session) return;
    const turn = session.prompt("count 1000").result();
    await home.done("node", "drain", owner);
    expect((await turn).stopReason).toBe("end_turn");
    await expect.poll(() => cluster.ownerOf(), { timeout: 30_000 }).not.toBe(owner);
    expect((await session.prompt("count 3").result()).text).toBe("1 2 3 ");
    expect(await home.done("node", "list")).toMatch(new RegExp(`${owner}[ *]+draining +0`));
    await home.done("node", "drain", owner, "--undo");

    const killed = await home.json("kill", "--all");
    expect(killed.gone.length).toBeGreaterThanOrEqual(2);
    expect(killed.nodes).toHaveLength(2);
    expect(killed.nodes.every((node: { error: unknown }) => node.error === null)).toBe(true);
    // A session is ended by the one that serves it, and by no other.
    const short = await reins.sessions.create({ agent: "scripted", cwd: cluster.workspace });
    const { sessions: ended } = await home.json("kill", short.id);
    expect(ended.filter((id: string) => id === short.id)).toHaveLength(1);

    // The constitution that one node's home gets is in force on all.
    const serving = await cluster.ownerOf();
    const other = cluster.nodes.find(({ name }) => name !== serving);
    const rules = await readFile(join(other?.home.path ?? "", "constitution.yaml"), "utf8");
    const stricter = rules.replace(
      /^tool_rules:\n/m,
      "tool_rules:\n  - { name: no_more, condition: { tool_name_matches: [once] }, verdict: blocked, reason: enough }\n",
    );
    expect(stricter).not.toBe(rules);
    await writeFile(join(other?.home.path ?? "", "constitution.yaml"), stricter);
    const first = async () => (await cluster.ask("/v1/policy")).body.in_force.rules[0].name;
    await expect.poll(first, { timeout: 10_000 }).toBe("no_more");
  });

  it("go on with the conversations of agents, on each node from where the others left them", async () => {
    const cluster = await startCluster("a", "b");
    await writeFile(join(cluster.workspace, "notes.txt"), "x");
    const { home } = cluster.node("a");
    const reins = await client(cluster);
    const session = await reins.sessions.create({ agent: "native", cwd: cluster.workspace });
    const said = ["what is in this folder", "what is in this folder now", "and what is in this folder"];
    let last = "";
    for (const text of said) {
      const { stopReason, text: answer } = await session.prompt(text).result();
      expect([stopReason, answer]).toEqual(["end_turn", expect.stringContaining("notes.txt")]);
      const owner = await cluster.ownerOf();
      expect(owner).not.toBe(last);
      if (last !== "") await home.done("node", "drain", last, "--undo");
      await home.done("node", "drain", owner, "--wait", "30");
      last = owner;
    }
  });

  it("take over from one that hangs, which is refused when it goes on, and begins anew", async () => {
    const cluster = await startCluster("a", "b", "c");
    const first = await client(cluster, cluster.urlOf("a"));
    const { id } = await first.sessions.create({ agent: "scripted", cwd: cluster.workspace });
    const owner = await cluster.ownerOf("default", cluster.urlOf("a"));
    const [other = ""] = cluster.nodes.flatMap(({ name }) => (name === owner ? [] : [name]));
    const reins = await client(cluster, cluster.urlOf(other));
    const session = await reins.sessions.resume(id);
    const { reins: hanging } = cluster.node(owner);
    hanging.signal("SIGSTOP");
    const next = () => cluster.ownerOf("default", cluster.urlOf(other)).catch(() => owner);
    const answer = async () => {
      const { body } = await cluster.ask(`/v1/sessions/${id}`, { url: cluster.urlOf(other) });
      return body.id ?? "";
    };
    await expect.poll(answer, { timeout: 60_000 }).toBe(id);
    expect(await next()).not.toBe(owner);
    expect((await session.prompt("count 3").result()).text).toBe("1 2 3 ");
    hanging.signal("SIGCONT");
    // It is a node again, and passes on what it is asked.
    const again = async () => [...(await cluster.serving(cluster.urlOf(owner))).keys()].toSorted();
    await expect.poll(() => again().catch(() => []), { timeout: 60_000 }).toEqual(["a", "b", "c"]);
    const back = await client(cluster, cluster.urlOf(owner));
    expect((await (await back.sessions.resume(id)).prompt("count 4").result()).text).toBe("1 2 3 4 ");
    expect(await cluster.node(other).home.run("ledger", "verify")).toMatchObject({ code: 0 });
  });

  it("say of which node nothing is known where nothing else runs", async () => {
    const cluster = await startCluster("a", "b");
    await cluster.ask("/v1/sessions");
    const owner = await cluster.ownerOf();
    const { reins, name } = cluster.nodes.find((node) => node.name !== owner) ?? cluster.node(owner);
    reins.signal("SIGSTOP");
    onTestFinished(() => void reins.signal("SIGCONT"));
    const order = (target: object) => ({ url: cluster.urlOf(owner), ...orderFor(target) });
    const [missing, single] = await Promise.all([
      cluster.ask("/v1/kill", order({ agent: "missing" })),
      cluster.ask("/v1/kill", order({ process: "none" })),
    ]);
    expect(missing).toMatchObject({
      status: 503,
      body: { detail: expect.stringContaining(`known of ${name}`) },
    });
    // The id of a process is one of the node that is asked.
    expect(single.status).toBe(404);
  });

  it("serve every protocol through any of them", async () => {
    const cluster = await startCluster("a", "b");
    await cluster.ask("/v1/sessions");
    const owner = await cluster.ownerOf();
    const [other = ""] = cluster.nodes.flatMap(({ name }) => (name === owner ? [] : [name]));
    const socket = cluster.urlOf(other).replace(/^http/, "ws");
    await writeFile(join(cluster.workspace, "notes.txt"), "x");

    const haak = await HaakClient.connect(`${socket}/ws?token=${cluster.token}`);
    const begun = await haak.init({ agent_id: "native" });
    const { text, events } = await haak.turn(begun.session_key, "what is in this folder");
    expect(text).toContain("notes.txt");
    expect(events.at(-1)).toMatchObject({ type: "done", stop_reason: "end_turn" });

    for (const address of [`${socket}/ahp`, `${cluster.urlOf(other)}/ahp`])
      expect(await decideOver(address, cluster.token)).toMatchObject({ decision: "allow" });

    const body = JSON.stringify({
      jsonrpc: "2.0",
      id: 1,
      method: "initialize",
      params: { protocolVersion: 1, _meta: { reins: { agent: "native" } } },
    });
    const headers = { "content-type": "application/json" };
    const begin = { url: cluster.urlOf(other), method: "POST", headers, body };
    expect((await cluster.ask("/acp", begin)).body).toMatchObject({ id: 1, result: { protocolVersion: 1 } });
    expect((await cluster.ask("/opencode/session", { url: cluster.urlOf(other) })).status).toBe(200);
  });

  it("lose and repeat nothing while they and their database are killed", async ({ signal }) => {
    await torture.run({ seed: 20_261_119, scale: "small", signal, log: () => undefined });
  });
});
