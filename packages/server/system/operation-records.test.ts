import { readFile, writeFile } from "node:fs/promises";
import { type ClientRequest, request } from "node:http";
import { join } from "node:path";
import { OBJECTS } from "@reins/api";
import { type Door, OPERATION_DOORS } from "@reins/host";
import type { PlacedEntry } from "@reins/ledger";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { tarOf } from "../../kit/test/tar.ts";
import { agentsForAll } from "./fixtures/agents.ts";
import { unnamedMembers } from "./fixtures/described.ts";
import { everyOperation, serveEverything } from "./fixtures/everything.ts";
import type { Person, Served } from "./fixtures/home.ts";
import { type NamingRequest, ownedObjects } from "./fixtures/objects.ts";

const RULES = `tool_rules:
  - { name: question, condition: { tool_name_matches: [deploy] }, verdict: ask }
  - { name: never, condition: { tool_name_matches: [agents/install, rm] }, verdict: blocked }
  - name: words
    condition: { any_of: [arguments: { content: "blocked*" }, arguments: { body: "blocked*" }, arguments: { agent: "blocked*" }] }
    verdict: blocked
    reason: not in these words
  - name: careful
    condition: { any_of: [arguments: { content: "asked*" }, arguments: { body: "asked*" }, arguments: { agent: "asked*" }] }
    verdict: ask
  - { name: all, condition: {}, verdict: allowed }
`;
const home = agentsForAll({ rules: RULES, hosting: { killSocket: true } });
const ends: (() => Promise<void>)[] = [];
let served: Served;
let owner: Person;
let operator: Person;
let make: (row: string) => Promise<NamingRequest>;

beforeAll(async () => {
  served = await serveEverything(home(), { onEnd: (end) => ends.push(end) });
  owner = await served.person({ roles: ["admin", "approver"] });
  operator = { id: "local", secret: served.access.token };
  await home().harness.policies.refresh();
  make = await ownedObjects(served, home(), { owner, starter: owner });
});
afterAll(async () => {
  for (const end of ends) await end();
});

const STRICTER = "  - { name: no_copies, condition: { tool_name_matches: [dd] }, verdict: blocked }\n";
const rules = () => join(home().harness.home, "constitution.yaml");
const withRules = async (from: string, to: string) =>
  writeFile(rules(), (await readFile(rules(), "utf8")).replace(from, to));
const inWorkspace = (name: string) => encodeURIComponent(join(home().workspace, name));

interface OperationRequest extends NamingRequest {
  readonly by?: Person;
  /** As whom entries name the caller, if not as its user. */
  readonly user?: string;
  /** How long the ledger was before. */
  readonly since?: number;
}

/** Requests that no other test makes: what they name, and what has to be there before. */
const REQUESTS: Readonly<Record<string, () => Promise<OperationRequest>>> = {
  remove_tenant: async () => ({
    ...(await make("DELETE /v1/identity/tenants/{tenant} {tenant}")),
    by: operator,
  }),
  reload_policy: async () => {
    // The server looks at the file by itself as well, and does not know who changed it.
    const since = await home().harness.ledger.size();
    await withRules("tool_rules:\n", `tool_rules:\n${STRICTER}`);
    return { path: "/v1/policy/reload", since, user: "reins:system" };
  },
  accept_policy: async () => {
    await withRules(STRICTER, "");
    await home().harness.policies.refresh();
    return { path: "/v1/policy/accept" };
  },
  add_agent: async () => ({ path: "/v1/roster", body: { session_id: "reed", kind: "agent", state: "live" } }),
  set_agent: async () => ({ path: "/v1/roster/native", body: { state: "idle" } }),
  post_board: async () => ({ path: "/v1/board", body: { content: "the mill is closed" } }),
  send_mail: async () => ({ path: "/v1/mailbox", body: { to: "reed", body: "rain" } }),
  mark_mail_read: async () => ({ path: "/v1/mailbox/reed/read", body: { messages: ["none"] } }),
  add_memory: async () => ({ path: "/v1/memory", body: { content: "releases are cut on Thursdays" } }),
  rewind_session: async () => {
    const { body, ...request } = await make("POST /v1/sessions/{id}/rewind {id}");
    return { ...request, body: { ...Object(body), dry_run: false } };
  },
  install_agent: async () => ({ path: "/v1/agents/pi/install" }),
  remove_install: async () => ({ path: "/v1/agents/pi/install" }),
  set_command_limits: async () => ({
    path: "/v1/processes/config",
    body: Object((await served.ask("GET", "/v1/processes/config")).body),
  }),
  list_folder: async () => ({ path: `/v1/fs/entries?path=${inWorkspace(".")}` }),
  make_folder: async () => ({ path: `/v1/fs/mkdir?path=${inWorkspace("made/by/the/test")}` }),
  upload_batch: async () => ({
    path: `/v1/fs/upload-batch?path=${inWorkspace("unpacked")}`,
    body: tarOf({ name: "a", content: "x" }),
    headers: { "content-type": "application/x-tar" },
  }),
};

/** Operations whose record needs more than a request, and the test that makes it. */
const ELSEWHERE: Readonly<Record<string, string>> = {
  drain_node: "nodes.test.ts of the command, where nodes share a database",
  decide_run: "graph-durable.test.ts, where a restart has interrupted a run",
};

/** Answers in the form of others, and lines of files in which there may be more. */
const OPEN = /^(?:opencode_.*|get_(?:mcp|skills)_config|(?:add|set)_agent)$/;

/** What an entry has to be that an operation leaves. */
function recordOf(door: Door): object | undefined {
  if ("record" in door) return { quality: door.record };
  if (!("point" in door)) return undefined;
  return { quality: "policy_verdict", ...(door.tool !== undefined && { target: door.tool }) };
}

async function entriesSince(start: number): Promise<readonly PlacedEntry["entry"][]> {
  return (await home().harness.ledger.read({ after: start - 1 })).map(({ entry }) => entry);
}

/** Who an operation was called by, as entries name that. */
async function userOf(by: Person): Promise<string> {
  const { user } = (await home().harness.identity.current(by)) ?? {};
  if (user === undefined) throw new Error("the caller has no user");
  return user;
}

describe("an operation that has a control point or a record", () => {
  const recorded = Object.entries<Door>(OPERATION_DOORS).flatMap(([id, door]) => {
    const entry = recordOf(door);
    return entry && !Object.hasOwn(ELSEWHERE, id) ? [[id, entry] as const] : [];
  });

  test("is most of those that are no GET", () => {
    expect(recorded.length).toBeGreaterThan(45);
  });

  test.each(recorded)("leaves it in the ledger, with who called: %s", async (id, entry) => {
    const operation = everyOperation.find((one) => one.id === id);
    const { method = "GET", path = "" } = operation ?? {};
    const row = [...OBJECTS.keys()].find((known) => known.startsWith(`${method} ${path} `)) ?? "";
    const { by = owner, ...request } = await (REQUESTS[id]?.() ?? made(row));
    const before = request.since ?? (await home().harness.ledger.size());
    const {
      status,
      text,
      body: answer,
    } = await served.ask(method, request.path, {
      ...{ as: by.secret, body: request.body, ...(request.headers && { headers: request.headers }) },
    });
    expect([status === 403 || status < 300, text]).toEqual([true, text]);
    if (operation && status < 300 && !OPEN.test(id))
      expect(unnamedMembers(operation.answer, answer)).toEqual([]);
    await expect
      .poll(() => entriesSince(before), { timeout: 10_000 })
      .toContainEqual(expect.objectContaining(entry));
    const found = (await entriesSince(before)).filter((one) =>
      Object.entries(entry).every(([name, value]) => Object(one)[name] === value),
    );
    expect(JSON.stringify(found)).toContain(request.user ?? (await userOf(by)));
  });
});

const made = async (row: string): Promise<OperationRequest> => make(row);

/** What callers write to agents, with a text that the rules look at. */
const WRITES: Readonly<Record<string, (word: string) => { readonly path: string; readonly body: object }>> = {
  "board/post": (content) => ({ path: "/v1/board", body: { content } }),
  "mailbox/send": (body) => ({ path: "/v1/mailbox", body: { to: "reed", body } }),
  "mailbox/mark_read": (agent) => ({ path: `/v1/mailbox/${agent}/read`, body: { messages: ["m"] } }),
  "memory/add": (content) => ({ path: "/v1/memory", body: { content } }),
};

describe.each(Object.entries(WRITES))("%s", (tool, write) => {
  const lists = ["/v1/board", "/v1/mailbox", "/v1/memory"];
  const known = async () => {
    const answers = lists.map((path) => served.ask("GET", path, { as: owner.secret }));
    return (await Promise.all(answers)).map(({ text }) => text).join("\n");
  };

  test("is refused as the rules say, and changes nothing", async () => {
    const before = [await home().harness.ledger.size(), await known()] as const;
    const { path, body } = write("blocked words");
    const refused = await served.ask("POST", encodeURI(path), { as: owner.secret, body });
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining("not in these words")]);
    expect(await known()).toBe(before[1]);
    const entries = await entriesSince(before[0]);
    expect(entries).toMatchObject([
      { quality: "policy_verdict", target: tool, payload: { verdict: "blocked" } },
    ]);
  });

  test("waits for a person where the rules ask", async () => {
    const { path, body } = write("asked words");
    const before = await home().harness.ledger.size();
    const waiting = served.ask("POST", encodeURI(path), { as: owner.secret, body });
    const asked = async () => {
      const { body: listed } = await served.ask("GET", "/v1/approvals?state=pending", { as: owner.secret });
      return Object(listed).approvals.filter((one: { tool: string }) => one.tool === tool);
    };
    await expect.poll(async () => (await asked()).length).toBe(1);
    const [{ id }] = await asked();
    const answer = { body: { decision: "allow_once" }, as: owner.secret };
    expect((await served.ask("POST", `/v1/approvals/${id}/answer`, answer)).status).toBe(200);
    expect((await waiting).status).toBeLessThan(300);
    await expect
      .poll(() => entriesSince(before))
      .toContainEqual(expect.objectContaining({ quality: "tool_result", target: tool }));
  });

  test("is done no more when its caller has left before the answer", async () => {
    const { path, body } = write("asked in vain");
    const before = await known();
    const start = await home().harness.ledger.size();
    const { sent } = await connected(encodeURI(path), body);
    await expect.poll(async () => (await entriesSince(start)).length).toBeGreaterThan(0);
    sent.destroy();
    const { body: listed } = await served.ask("GET", "/v1/approvals?state=pending", { as: owner.secret });
    for (const { id } of Object(listed).approvals)
      await served.ask("POST", `/v1/approvals/${id}/answer`, {
        body: { decision: "allow_once" },
        as: owner.secret,
      });
    expect(await known()).toBe(before);
  });
});

/** A request whose answer is not read yet. */
async function connected(path: string, body: object): Promise<{ readonly sent: ClientRequest }> {
  const { hostname, port } = new URL(served.address);
  const headers = { authorization: `Bearer ${owner.secret}`, "content-type": "application/json" };
  const sent = request({ hostname, port, path, method: "POST", headers });
  sent.on("error", () => undefined);
  sent.end(JSON.stringify(body));
  return { sent };
}
