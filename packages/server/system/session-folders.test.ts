import { mkdir, symlink, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { join } from "node:path";
import { channelPair, isObject, membersOf, Peer } from "@reins/acp";
import { AgentRunner } from "@reins/haak";
import { serveChannel } from "@reins/host";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { haakRoutes } from "../src/index.ts";
import { AcpClient } from "./fixtures/acp-client.ts";
import { type AgentHome, openAgentHome } from "./fixtures/agent-home.ts";
import { serveAgents } from "./fixtures/agents.ts";
import { HaakSocket } from "./fixtures/haak.ts";
import type { Served } from "./fixtures/home.ts";
import { silent } from "./fixtures/parts.ts";
import { RpcClient } from "./fixtures/rpc-client.ts";

/** What came of a request: the session, or the reason why there is none. */
type Outcome = { readonly session: string } | { readonly refused: string };
type Call = (method: string, params: Record<string, unknown>) => Promise<Outcome>;

let home: AgentHome;
let runner: AgentRunner;

beforeAll(async () => {
  const tenants: Record<string, string[]> = { acme: [] };
  home = await openAgentHome({ agents: ["stub"], hosting: { tenants } });
  tenants.acme?.push(join(home.base, "acme"));
  runner = await AgentRunner.open({ ...home, backend: "stub", heartbeatMs: 0 });
  for (const folder of ["acme/sub", "acme-other", "globex/sub", "workspace/sub"])
    await mkdir(join(home.base, folder), { recursive: true });
  for (const [name, target] of Object.entries(LINKS)) await symlink(target, join(home.base, "acme", name));
  await writeFile(join(home.base, "acme", "file"), "no folder");
});

afterAll(async () => {
  runner.close();
  await home.close();
});

const LINKS = {
  "to-sub": "sub",
  "to-globex": "../globex",
  "to-workspace": "../workspace",
  "to-proc": "/proc",
  "to-self": "/proc/self",
  "to-root": "/",
  "to-home": "../home",
  "to-nothing": "../globex/nothing",
};

/** Folders by the tenant that may use them, and folders of the machine that are always rejected. */
const ACME = [
  "acme",
  "acme/",
  "acme/sub",
  "acme/./sub//",
  "acme/sub/../sub",
  "acme/to-sub",
  "globex/../acme",
];
const ELSEWHERE = [
  ...[
    "globex",
    "globex/",
    "globex/sub",
    "acme/../globex",
    "acme/sub/../../globex",
    "acme-other",
    "workspace",
  ],
  ...["acme/to-globex", "acme/to-globex/sub", "acme/to-workspace"],
];
const MISSING = ["acme/nothing", "acme/file", "acme/file/", "acme/to-nothing", "globex/nothing"];
const NEVER = [
  ...["/", "//", "/proc", "/proc/", "/proc/self", "/proc/self/task", "/proc/self/fd", "/proc/self/fdinfo"],
  ...["/tmp/../proc", "/proc/1/..", "/sys", "/sys/kernel", "/dev", "/dev/fd", "/run", "/var/run"],
  ...["/proc/self/root", "/proc/self/root/proc", homedir()],
];
const NEVER_HERE = [
  "home",
  "home/keys",
  "home/../home",
  "acme/to-home",
  "acme/to-proc",
  "acme/to-self",
  "acme/to-root",
  "acme/to-root/tmp",
];

const paths = () => ({
  acme: ACME.map((folder) => `${home.base}/${folder}`),
  elsewhere: ELSEWHERE.map((folder) => `${home.base}/${folder}`),
  missing: MISSING.map((folder) => `${home.base}/${folder}`),
  never: [
    ...NEVER,
    `/proc/self/root${home.base}/home`,
    ...NEVER_HERE.map((folder) => `${home.base}/${folder}`),
  ],
});

/** The ways to begin a session over ACP, each as a function that asks. */
const ACP: Record<string, (served: Served, as: string) => Promise<Call>> = {
  "/v1/rpc": async (served, as) => {
    const client = await RpcClient.open(served, { as });
    await client.stream();
    return async (method, params) => {
      const { body } = await client.request(method, params);
      const { result, error } = membersOf(body);
      return isObject(result)
        ? { session: String(result.sessionId ?? params.sessionId) }
        : { refused: String(membersOf(error).message) };
    };
  },
  "/acp over HTTP": (served, as) => overSdk(served, as, "http"),
  "/acp over WebSocket": (served, as) => overSdk(served, as, "websocket"),
  "a channel, as reins acp has it": async (_, as) => {
    const principal = await home.harness.identity.authenticate(as);
    if (!principal) throw new Error("not known");
    const [ours, theirs] = channelPair();
    void serveChannel(home.hosting.hub, { channel: theirs, principal, agent: "stub" });
    const peer = new Peer(ours, {
      request: async () => ({}),
      notification: () => undefined,
      fault: () => undefined,
    });
    await peer.request("initialize", { protocolVersion: 1 });
    return (method, params) => outcomeOf(peer.request(method, params), params);
  },
};

async function overSdk(served: Served, as: string, way: "http" | "websocket"): Promise<Call> {
  const { agent } = await AcpClient.open(served, way, { as });
  return (method, params) => outcomeOf(agent.request(method, params), params);
}

async function outcomeOf(asked: Promise<unknown>, { sessionId }: Record<string, unknown>): Promise<Outcome> {
  try {
    return { session: String(membersOf(await asked).sessionId ?? sessionId) };
  } catch (error) {
    return { refused: error instanceof Error ? error.message : JSON.stringify(error) };
  }
}

/** Adds a user of a tenant whose rules are loaded; returns the token. */
async function person(served: Served, who: Parameters<Served["person"]>[0] = {}): Promise<string> {
  const { secret } = await served.person(who);
  await home.harness.policies.refresh();
  return secret;
}

/** Serves all routes. */
async function serve(): Promise<Served> {
  const { harness } = home;
  const haak = haakRoutes({ harness: async () => harness, runner: async () => runner, log: silent });
  return serveAgents(home, { more: [haak] });
}

const begin = (cwd: string) => ({ cwd, mcpServers: [], _meta: { "sandboxagent.dev": { agent: "stub" } } });
const refusedFor = (outcome: Outcome) => ("refused" in outcome ? outcome.refused : "a session");

describe.each(Object.entries(ACP))("over %s", (_, open) => {
  test("a session starts only in folders of its tenant, after resolving links", async () => {
    const served = await serve();
    const call = await open(served, await person(served, { tenant: "acme" }));
    const { acme, elsewhere, missing, never } = paths();
    for (const cwd of acme)
      expect(await call("session/new", begin(cwd)), cwd).toEqual({ session: expect.any(String) });
    for (const cwd of [...elsewhere, ...never])
      expect(refusedFor(await call("session/new", begin(cwd))), cwd).toContain(
        `not in a folder that the tenant acme was given, which are ${home.base}/acme`,
      );
    for (const cwd of missing)
      expect(refusedFor(await call("session/new", begin(cwd))), cwd).toMatch(
        /there is no folder|is not a folder|was given/,
      );
    const [inside = ""] = acme;
    for (const other of [...elsewhere, ...missing, ...never])
      expect(
        refusedFor(await call("session/new", { ...begin(inside), additionalDirectories: [other] })),
        other,
      ).not.toBe("a session");
  });

  test("a session is resumed or forked only in folders of its tenant", async () => {
    const served = await serve();
    const call = await open(served, await person(served, { tenant: "acme" }));
    const { acme, elsewhere, missing, never } = paths();
    const begun = await call("session/new", begin(acme[0] ?? ""));
    if (!("session" in begun)) throw new Error(begun.refused);
    for (const method of ["session/load", "session/resume", "session/fork"]) {
      const asked = { sessionId: begun.session, mcpServers: [] };
      for (const cwd of [...elsewhere, ...missing, ...never]) {
        expect(refusedFor(await call(method, { ...asked, cwd })), `${method} ${cwd}`).not.toBe("a session");
        const more = { ...asked, cwd: acme[0], additionalDirectories: [cwd] };
        expect(refusedFor(await call(method, more)), `${method} + ${cwd}`).not.toBe("a session");
      }
    }
    expect(await call("session/load", { ...begin(acme[2] ?? ""), sessionId: begun.session })).toEqual(begun);
    const session = home.hosting.hub.live(begun.session);
    expect(session?.record).toMatchObject({ cwd: acme[2], additional_directories: [] });
  });
});

describe("over /ws", () => {
  test("a session starts only in folders of its tenant, by default in the first", async () => {
    const served = await serve();
    const secret = await person(served, { tenant: "acme" });
    const socket = await HaakSocket.open(`${served.address}/ws`, { authorization: `Bearer ${secret}` });
    const { acme, elsewhere, missing, never } = paths();
    for (const cwd of [undefined, ...acme])
      expect(await socket.ask("session.init", { agent_id: "x", cwd }), cwd).not.toHaveProperty("error");
    for (const cwd of [...elsewhere, ...missing, ...never])
      expect(await socket.ask("session.init", { agent_id: "x", cwd }), cwd).toHaveProperty("error");
  });
});

describe("the folders", () => {
  test("of the system, the user and Reins are rejected for every principal", async () => {
    const served = await serve();
    const { missing, never } = paths();
    const people = [
      served.access.token,
      await person(served, { roles: ["admin"] }),
      await person(served, { tenant: "acme", roles: ["admin"] }),
      await person(served),
    ];
    for (const as of people) {
      const client = await RpcClient.open(served, { as });
      for (const cwd of [...never, ...missing]) {
        const { body } = await client.request("session/new", begin(cwd));
        expect(body, `${cwd}`).toMatchObject({ error: { message: expect.stringContaining(cwd) } });
      }
    }
  });

  test("of all tenants are allowed for the operator; a tenant without any gets its own", async () => {
    const served = await serve();
    const { acme, elsewhere } = paths();
    const operator = await RpcClient.open(served);
    for (const cwd of [...acme, ...elsewhere]) await operator.begin(cwd);
    const as = await person(served, { tenant: "globex", roles: ["admin"] });
    const client = await RpcClient.open(served, { as });
    for (const cwd of [...acme, ...elsewhere]) {
      const { body } = await client.request("session/new", begin(cwd));
      expect(body, cwd).toMatchObject({ error: { message: expect.stringContaining("was given") } });
    }
    await client.begin(join(home.base, "home-workspaces", "globex"));
    const secret = await person(served);
    const member = await RpcClient.open(served, { as: secret });
    await member.begin(join(home.workspace, "sub"));
    await expect(member.begin(join(home.base, "globex"))).rejects.toThrow("was given");
  });

  test("that were rejected are recorded with the reason", async () => {
    const served = await serve();
    const as = await person(served, { tenant: "acme" });
    const client = await RpcClient.open(served, { as });
    const cwd = join(home.base, "globex");
    const { body } = await client.request("session/new", begin(cwd));
    const { entry } = Object(Object(Object(Object(body).error).data).reins);
    const recorded = await home.ledger.read({ quality: "policy_verdict", limit: 100, order: "newest" });
    expect(recorded.find(({ entry: { cid } }) => cid === entry)?.entry).toMatchObject({
      quality: "policy_verdict",
      payload: { verdict: "blocked", event_type: "session_start", reason: expect.stringContaining(cwd) },
    });
  });
});
