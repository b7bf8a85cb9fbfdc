import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { identityOperations } from "@reins/api";
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from "vitest";
import { newInvocation } from "../command.ts";
import { makeProgram } from "../program.ts";
import { operationCommand } from "./operation-command.ts";

const requests: { method?: string | undefined; url?: string | undefined; body: unknown }[] = [];
let response: unknown;
let url = "";

const server = createServer(async (request: IncomingMessage, answer) => {
  const body = await text(request);
  requests.push({
    method: request.method,
    url: request.url,
    body: body === "" ? undefined : JSON.parse(body),
  });
  answer.writeHead(response === undefined ? 204 : 200, { "content-type": "application/json" });
  answer.end(response === undefined ? undefined : JSON.stringify(response));
});
beforeAll(async () => {
  await new Promise<void>((listening) => server.listen(0, "127.0.0.1", listening));
  const { port } = server.address() as AddressInfo;
  url = `http://127.0.0.1:${port}`;
});
afterAll(() => new Promise((closed) => server.close(closed)));
afterEach(() => vi.restoreAllMocks());

const user = { id: "ann", tenant: "acme", name: "Ann", email: "a@b", roles: [], scopes: ["*"], created: "" };
const agent = { agent: "reed", trust: "registered", entry: { session_id: "reed" } };
const fact = { id: "f".repeat(36), content: "a", source: "", confidence: 1, workspace: "", created_at: "" };

/** Runs a command line against a server that gives one response; what was sent and printed. */
async function run(given: unknown, ...args: string[]) {
  requests.length = 0;
  response = given;
  const printed: string[] = [];
  vi.spyOn(process.stdout, "write").mockImplementation((chunk) => Boolean(printed.push(String(chunk))));
  const program = await makeProgram(newInvocation());
  await program.parseAsync([...args, "--url", url], { from: "user" });
  return { sent: requests.at(-1), printed: printed.join("") };
}

describe("a command of an operation", () => {
  it.each([
    [
      ["user", "list", "--tenant", "acme"],
      { users: [user] },
      "GET",
      "/v1/identity/users?tenant=acme",
      undefined,
    ],
    [
      ["user", "add", "ann", "--name", "Ann", "--email", "a@b", "--role", "admin, reviewer"],
      user,
      "POST",
      "/v1/identity/users",
      { id: "ann", name: "Ann", email: "a@b", roles: ["admin", "reviewer"], scopes: [] },
    ],
    [
      ["user", "set", "a/b", "--scopes", "", "--tenant", "acme"],
      user,
      "PATCH",
      "/v1/identity/users/a%2Fb?tenant=acme",
      { scopes: [] },
    ],
    [["user", "remove", "ann"], undefined, "DELETE", "/v1/identity/users/ann", undefined],
    [
      ["roster", "add", "reed"],
      agent,
      "POST",
      "/v1/roster",
      { session_id: "reed", kind: "agent", state: "live" },
    ],
    [["roster", "set-state", "reed", "dead"], agent, "PATCH", "/v1/roster/reed", { state: "dead" }],
    [
      ["mailbox", "send", "reed", "rain", "tonight"],
      undefined,
      "POST",
      "/v1/mailbox",
      { to: "reed", subject: "", body: "rain tonight" },
    ],
    [
      ["mailbox", "list", "--unread", "reed", "--limit", "3"],
      { messages: [], faults: [] },
      "GET",
      "/v1/mailbox/reed?limit=3",
      undefined,
    ],
    [["board", "show", "--lines", "500"], { lines: [] }, "GET", "/v1/board?lines=500", undefined],
    [
      ["memory", "add", "a", "fact", "--confidence", "0.5"],
      fact,
      "POST",
      "/v1/memory",
      { content: "a fact", confidence: 0.5 },
    ],
    [["memory", "search", "two", "words"], { facts: [fact] }, "GET", "/v1/memory?query=two+words", undefined],
    [
      ["token", "create", "--user", "ann", "--agents", "reed,claude", "--kind", "service", "--json"],
      { id: "tok_1", secret: "s" },
      "POST",
      "/v1/identity/tokens",
      { user: "ann", agents: ["reed", "claude"], kind: "service" },
    ],
  ])("sends the members of %j", async (args, given, method, path, body) => {
    expect((await run(given, ...args)).sent).toEqual({ method, url: path, body });
  });

  it.each([
    [["user", "list"], { users: [user] }, { users: [user] }],
    [["user", "remove", "ann"], undefined, { id: "ann", removed: true }],
    [["board", "post", "closed"], undefined, { content: "closed" }],
    [["mailbox", "send", "reed", "rain"], undefined, { to: "reed", subject: "", body: "rain" }],
    [["memory", "forget", fact.id], undefined, { id: fact.id, forgotten: true }],
  ])("prints the result of %j as JSON", async (args, given, json) => {
    expect(JSON.parse((await run(given, ...args, "--json")).printed)).toEqual(json);
  });

  it.each([
    [["board", "show", "--lines", "501"], '--lines is "501".'],
    [["memory", "list", "--limit", "0"], '--limit is "0".'],
    [["memory", "add", "a", "--confidence", "2"], '--confidence is "2", which is not a number from 0 to 1.'],
    [["user", "set", "ann"], "Nothing says what to change."],
    [["mailbox", "list", "--unread"], "--unread names no agent."],
    [["approvals", "approve", "apr_1234", "--for", "1h"], "--for says how long an --always lasts."],
    [["token", "create", "--user", "ann", "--expires", "soon"], '--expires is "soon".'],
  ])("rejects %j before anything is sent", async (args, message) => {
    await expect(run({}, ...args)).rejects.toThrow(message);
    expect(requests).toEqual([]);
  });

  it("cannot be declared with an input that the operation does not have", () => {
    const inputs = { tenent: ["--tenent <id>", "misspelled"] as const };
    expect(() =>
      operationCommand({
        operation: identityOperations.listUsers,
        inputs,
        output: () => ({ text: () => "" }),
      }),
    ).toThrow("list_users has no member tenent");
  });
});
