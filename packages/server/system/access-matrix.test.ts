import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { Agent, request } from "node:http";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import {
  type Audience,
  CALLERS,
  type CallerKind,
  type MatrixCell,
  type Operation,
  OTHER_DOORS,
  permissionOf,
} from "@reins/api";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { haakRoutes } from "../src/index.ts";
import { agentsForAll } from "./fixtures/agents.ts";
import { begin } from "./fixtures/ask.ts";
import { everyOperation, serveEverything } from "./fixtures/everything.ts";
import type { Person, Served } from "./fixtures/home.ts";
import { silent } from "./fixtures/parts.ts";
import { RpcClient } from "./fixtures/rpc-client.ts";

const home = agentsForAll({
  rules: `tool_rules:
  - { name: ask, condition: { tool_name_matches: [deploy] }, verdict: ask }
  - { name: all, condition: {}, verdict: allowed }
`,
});
const agent = new Agent({ keepAlive: true, maxSockets: 4 });
let served: Served;
const ends: (() => Promise<void>)[] = [];
const secrets = new Map<CallerKind, string>();

beforeAll(async () => {
  const { harness } = home();
  const runner = async () => Promise.reject(new Error("no sessions of HAAK here"));
  const haak = haakRoutes({ harness: async () => harness, runner, auth: "token", log: silent });
  const ui = join(home().base, "page");
  await mkdir(ui);
  await writeFile(join(ui, "index.html"), "<html></html>");
  served = await serveEverything(home(), { ui, onEnd: (end) => ends.push(end), more: [haak] });
  const person = async (...given: Parameters<Served["person"]>) => (await served.person(...given)).secret;
  secrets.set("unauthenticated", "reins_0000000000000000000000000000000000000000000");
  // Roles give an agent nothing.
  secrets.set("agent", await person({ kind: "agent", roles: ["admin", "approver"] }));
  secrets.set("user", await person({ tenant: "acme" }));
  secrets.set("approver", await person({ tenant: "acme", roles: ["approver"] }));
  secrets.set("admin", await person({ tenant: "acme", roles: ["admin"] }));
  secrets.set("server admin", await person({ roles: ["admin"] }));
  secrets.set("operator", served.access.token);
});
afterAll(async () => {
  for (const end of ends) await end();
  agent.destroy();
});

/** Nothing of the request is right but its place, so that what may be asked is refused later, and has no effect. */
const WRONG = '{"not a member":{"of":"any body"}}';

async function asked(method: string, path: string, secret: string, query = ""): Promise<number> {
  const headers = { authorization: `Bearer ${secret}` };
  const body = method === "POST" || method === "PATCH" ? WRONG : undefined;
  const { sent, response } = await begin(served.address, method, `${path}${query}`, { headers, agent, body });
  const { statusCode = 0 } = response;
  if (response.headers["content-type"] === "text/event-stream") sent.destroy();
  else for await (const _ of response);
  return statusCode;
}

function permission(status: number): MatrixCell {
  return status === 401 || status === 403 ? status : "yes";
}

/** A name that nothing has. */
const filled = (path: string) => path.replaceAll(/\{\w+\}/g, "nothing-0").replace("*", "");

/** Operations whose handler looks for a login first, as the documentation of each says. */
const isLogin = ({ path }: Operation) => path.startsWith("/v1/login") && !path.endsWith("/codes");

describe("every operation", () => {
  test.each(CALLERS)("answers a caller of the kind %s as the matrix says", async (caller) => {
    const secret = secrets.get(caller) ?? "";
    const found: string[] = [];
    const stated: string[] = [];
    for (const operation of everyOperation) {
      const { method, path, audience } = operation;
      const name = `${method} ${path}`;
      const status = await asked(method, filled(path), secret, "?not-a-parameter=1");
      expect([name, status < 500 || status === 501 || status === 503]).toEqual([name, true]);
      found.push(`${name}: ${isLogin(operation) ? "yes" : permission(status)}`);
      stated.push(`${name}: ${permissionOf(audience, caller)}`);
    }
    expect(found).toEqual(stated);
  });

  test("is refused without any credential", async () => {
    for (const { method, path, audience } of everyOperation) {
      const { statusCode, headers } = (await begin(served.address, method, filled(path), {})).response;
      if (audience === "anyone") expect([path, statusCode]).not.toEqual([path, 403]);
      else
        expect([path, statusCode, headers["content-type"]]).toEqual([path, 401, "application/problem+json"]);
    }
  });
});

/** The status of an upgrade: 101 where it was accepted. */
function upgraded(path: string, secret: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${served.address.replace("http", "ws")}${path}`, {
      headers: { authorization: `Bearer ${secret}` },
    });
    socket.on("open", () => {
      resolve(101);
      socket.terminate();
    });
    socket.on("unexpected-response", async (_, response) => {
      const problem = await json(response).catch(reject);
      if (String(Object(problem).detail).includes("has no WebSocket"))
        reject(new Error(`nothing takes ${path}`));
      else resolve(response.statusCode ?? 0);
    });
    socket.on("error", () => undefined);
  });
}

describe("every other door", () => {
  const cells = Object.values(OTHER_DOORS).flatMap(({ method, path, audience }) =>
    CALLERS.map((caller): [string, CallerKind, Audience] => [`${method} ${path}`, caller, audience]),
  );
  test.each(cells)(
    "%s answers a caller of the kind %s as the matrix says",
    async (door, caller, audience) => {
      const [method = "", path = ""] = door.split(" ");
      const secret = secrets.get(caller) ?? "";
      const status =
        method === "WebSocket"
          ? await upgraded(filled(path), secret)
          : await asked(method, filled(path), secret);
      expect([door, caller, permission(status)]).toEqual([door, caller, permissionOf(audience, caller)]);
    },
  );
});

describe("what belongs to a tenant", () => {
  test("is not there for another, whichever operation asks for it", async () => {
    const ann = await served.person({ roles: ["admin"] });
    const client = await RpcClient.open(served, { as: ann.secret });
    const session = await client.begin(home().workspace);
    const approval = await served.question("matrix", "default");
    const listed = async (path: string) => Object((await served.ask("GET", path, { as: ann.secret })).body);
    const [entry] = (await listed("/v1/ledger?limit=1")).entries ?? [];
    const [connection] = (await listed("/v1/connections")).connections ?? [];
    const known: Readonly<Record<string, string>> = {
      "/v1/sessions/{id}": session,
      "/v1/sessions/{id}/tools": session,
      "/v1/haak/sessions/{session}": session,
      "/v1/haak/sessions/{session}/history": session,
      "/v1/haak/sessions/{session}/ledger": session,
      "/v1/haak/sessions/{session}/turns": session,
      "/v1/approvals/{id}": approval,
      "/v1/identity/tokens/{token}": ann.id,
      "/v1/identity/tenants/{tenant}": "default",
      "/v1/ledger/entries/{cid}": String(Object(entry).cid ?? Object(Object(entry).entry).cid),
      "/v1/ledger/entries/{cid}/proof": String(Object(entry).cid ?? Object(Object(entry).entry).cid),
      "/v1/connections/{id}": String(Object(connection).id),
    };
    expect(Object.values(known)).not.toContain("undefined");
    const foreign = secrets.get("admin") ?? "";
    for (const { method, path } of everyOperation) {
      const id = known[path];
      if (id === undefined || method === "PATCH") continue;
      const status = await asked(method, path.replace(/\{\w+\}/, encodeURIComponent(id)), foreign);
      expect([method, path, status]).toEqual([method, path, 404]);
    }
    expect((await served.ask("GET", `/v1/sessions/${session}`, { as: ann.secret })).status).toBe(200);
  });

  test("is not there over its terminal for any but the one who started the command", async () => {
    const ann = await served.person({ roles: ["admin"] });
    const command = { command: "cat", tty: true };
    const { body } = await served.ask("POST", "/v1/processes", { as: ann.secret, body: command });
    const path = `/v1/processes/${Object(body).id}`;
    const found: unknown[] = [];
    for (const caller of CALLERS)
      found.push([caller, await upgraded(`${path}/terminal/ws`, secrets.get(caller) ?? "")]);
    const refused: Partial<Record<CallerKind, number>> = { unauthenticated: 401, agent: 403 };
    expect(found).toEqual(CALLERS.map((caller) => [caller, refused[caller] ?? 404]));
    expect(await upgraded(`${path}/terminal/ws`, ann.secret)).toBe(101);
    await served.ask("POST", `${path}/kill`, { as: ann.secret });
  });

  test("is in no stream of another, nor what it is about in one of another user", async () => {
    const ann = await served.person({ roles: ["admin"] });
    const foreign = await served.person({ tenant: "globex", roles: ["admin"] });
    const user = await served.person();
    const streams = everyOperation.filter(
      ({ method, path, events }) => method === "GET" && !path.includes("{") && events !== undefined,
    );
    /** What each of the streams has shown a person so far. */
    const shownTo = async ({ secret }: Person) => {
      const shown = new Map<string, string>();
      for (const { path } of streams) {
        const headers = { authorization: `Bearer ${secret}`, accept: "text/event-stream" };
        const sent = request(`${served.address}${path}`, { headers, agent: false }).end();
        onTestFinished(() => void sent.destroy());
        const [response] = await once(sent, "response");
        if (response.statusCode !== 200) continue;
        shown.set(path, "");
        response.setEncoding("utf8").on("data", (text: string) => {
          shown.set(path, `${shown.get(path)}${text}`);
        });
      }
      return shown;
    };
    const [own, others, users] = [await shownTo(ann), await shownTo(foreign), await shownTo(user)];
    const notOpen = ["/acp", "/v1/rpc", "/v1/wire/requests/stream"];
    const open = streams.map(({ path }) => path).filter((path) => !notOpen.includes(path));
    expect([...others.keys()].toSorted()).toEqual(open.toSorted());
    const client = await RpcClient.open(served, { as: ann.secret });
    const session = await client.begin(home().workspace);
    await client.prompt(session, "say canary");
    const principal = await home().harness.identity.current(ann);
    const approval = await served.question(session, "default", "deploy", { to: "canary" }, principal?.user);
    const calls = [{ id: "canary", type: "tool", name: "glob", args: { pattern: "*" } }];
    const declaration = { kind: "act", message: "canary", calls };
    const run = await served.ask("POST", "/v1/runs", { as: ann.secret, body: { declaration, session } });
    expect(run.status).toBeLessThan(300);
    const marks = [session, "canary", String(Object(run.body).run_id)];
    const seenIn = (shown: ReadonlyMap<string, string>, named: readonly string[]) =>
      [...shown].flatMap(([path, text]) => (named.some((mark) => text.includes(mark)) ? [path] : []));
    // The streams of the owner show it, so that those of others had the time to.
    // Nothing is tapped here.
    const shows = open.filter((path) => path !== "/v1/wire/stream");
    await expect.poll(() => seenIn(own, marks).toSorted()).toEqual(shows.toSorted());
    expect(seenIn(others, [...marks, approval])).toEqual([]);
    expect(seenIn(users, marks)).toEqual([]);
    expect(users.get("/v1/approvals/stream")).toContain(approval);
  });

  test("is in no list of another", async () => {
    const { secret } = await served.person({ tenant: "globex", roles: ["admin"] });
    const lists = everyOperation.filter(
      ({ method, path, audience, events }) =>
        method === "GET" &&
        !path.includes("{") &&
        !events &&
        ["principal", "person", "admin"].includes(audience),
    );
    for (const { path } of lists) {
      const { status, text } = await served.ask("GET", path, { as: secret });
      expect([path, status, text.includes("acme"), text.includes('person-1"')]).toEqual([
        path,
        status,
        false,
        false,
      ]);
    }
  });
});
