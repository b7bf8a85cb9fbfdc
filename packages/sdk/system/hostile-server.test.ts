import type { IncomingMessage, ServerResponse } from "node:http";
import { LoopbackServer } from "@reins/kit";
import { expect, onTestFinished, test } from "vitest";
import { connect, type ReinsClient } from "../src/index.ts";
import { start } from "../src/start.ts";

type Answer = (request: IncomingMessage, response: ServerResponse, body: Message) => void;
interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: unknown;
}

const SELF = {
  id: "u1",
  kind: "user",
  user: "u1",
  tenant: "default",
  roles: ["admin"],
  scopes: [],
  is_admin: true,
};
const silent: Answer = () => undefined;
const CONNECTED = { "x-acp-connection-id": "c" };
const json = (response: ServerResponse, value: unknown, headers = {}) =>
  response.writeHead(200, { "content-type": "application/json", ...headers }).end(JSON.stringify(value));

/** A server that is Reins as far as `answers` has no path of its own; posts to `/v1/rpc` are looked up by their method. */
async function lying(
  answers: Readonly<Record<string, Answer>>,
): Promise<{ readonly reins: ReinsClient; readonly seen: (string | undefined)[] }> {
  const server = await LoopbackServer.listen();
  onTestFinished(() => server.close());
  const seen: (string | undefined)[] = [];
  server.serve(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece);
    const body: Message = pieces.length > 0 ? JSON.parse(Buffer.concat(pieces).toString()) : {};
    const [path = ""] = (request.url ?? "").split("?");
    const name = path === "/v1/rpc" ? (body.method ?? request.method ?? "") : path;
    seen.push(name);
    const answer = answers[name];
    if (answer) answer(request, response, body);
    else if (name === "/v1/whoami") json(response, SELF);
    else if (name === "initialize") json(response, { jsonrpc: "2.0", id: body.id, result: {} }, CONNECTED);
    else if (name === "GET")
      response.writeHead(200, { "content-type": "text/event-stream" }).write(": hello\n\n");
    else response.writeHead(202).end();
  });
  const reins = await connect(server.url, { token: "secret", giveUpMs: 300 });
  onTestFinished(() => reins.close());
  return { reins, seen };
}

/** A signal that aborts once the server has seen something. */
function abortedAfter(seen: readonly (string | undefined)[], name: string): AbortSignal {
  const abort = new AbortController();
  const timer = setInterval(() => seen.includes(name) && abort.abort(new Error("enough")), 5);
  onTestFinished(() => clearInterval(timer));
  return abort.signal;
}

test.each<[string, string, (reins: ReinsClient, signal: AbortSignal) => Promise<unknown>]>([
  ["a session", "initialize", (reins, signal) => reins.sessions.create({ cwd: "/", signal })],
  ["a session", "session/new", (reins, signal) => reins.sessions.create({ cwd: "/", signal })],
  ["a resumption", "session/resume", (reins, signal) => reins.sessions.resume("s", { signal })],
  ["a list", "/v1/sessions", (reins, signal) => reins.sessions.list({ signal }).next()],
  [
    "an install",
    "/v1/agents/claude/install",
    (reins, signal) => reins.agents.install("claude", { signal }).next(),
  ],
  ["a change", "/v1/approvals/a/answer", (reins, signal) => reins.approvals.answer("a", "deny", { signal })],
  ["a file", "/v1/fs/file", (reins, signal) => reins.files.read("a", { signal })],
  ["a proof", "/v1/ledger/entries/c/proof", (reins, signal) => reins.ledger.prove("c", { signal })],
])("waiting for %s is aborted though the server never answers %s", async (_, name, wait) => {
  const { reins, seen } = await lying({ [name]: silent });
  await expect(wait(reins, abortedAfter(seen, name))).rejects.toThrow("enough");
});

test("an aborted request is cancelled at the server, and the connection goes on", async () => {
  const { reins, seen } = await lying({ "session/new": silent });
  const create = reins.sessions.create({ cwd: "/", signal: abortedAfter(seen, "session/new") });
  await expect(create).rejects.toThrow("enough");
  await expect.poll(() => seen).toContain("$/cancel_request");
});

test("a start is aborted though the server never says that it is healthy", async () => {
  const { promise: asked, resolve } = Promise.withResolvers<void>();
  const server = await LoopbackServer.listen();
  onTestFinished(() => server.close());
  server.serve(() => resolve());
  const abort = new AbortController();
  const program = `console.log(${JSON.stringify(server.url)}); process.stdin.resume();`;
  const started = start({ command: [process.execPath, "-e", program], signal: abort.signal });
  await asked;
  abort.abort(new Error("enough"));
  await expect(started).rejects.toThrow("enough");
});

test("closing does not wait for a server that never answers", async () => {
  const { reins, seen } = await lying({ initialize: silent });
  const created = reins.sessions.create({ cwd: "/" }).catch((error: unknown) => error);
  await expect.poll(() => seen).toContain("initialize");
  await reins.close();
  expect(await created).toMatchObject({ name: "ConnectionError", code: "closed" });
});

test("an aborted stream of progress rejects with the reason", async () => {
  const { reins, seen } = await lying({
    "/v1/agents/claude/install": (_, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write('event: progress\ndata: {"phase":"installing","done":1,"total":9}\n\n');
      seen.push("sent");
    },
  });
  const steps = reins.agents.install("claude", { signal: abortedAfter(seen, "sent") });
  await steps.next();
  await expect(steps.next()).rejects.toThrow("enough");
});

test.each<[string, Answer]>([
  ["at once", (_, response) => response.writeHead(200, { "content-type": "text/event-stream" }).end()],
  ["by hanging up", (_, response) => response.destroy()],
])("a server that ends every stream %s is given up", async (_, end) => {
  const { reins } = await lying({ GET: end, "session/new": silent });
  await expect(reins.sessions.create({ cwd: "/" })).rejects.toMatchObject({
    name: "ConnectionError",
    code: "unreachable",
  });
});

test("a page that leads to itself ends the list", async () => {
  const { reins } = await lying({
    "/v1/sessions": (_, response) => json(response, { sessions: [], next: "a" }),
  });
  await expect(reins.sessions.list().next()).rejects.toMatchObject({ code: "incompatible" });
});

test.each<[string, string]>([
  ["problem", "application/problem+json"],
  ["page", "text/html"],
])("a refusal with an endless %s is a refusal", async (_, type) => {
  const { reins } = await lying({
    "/v1/sessions/s": (_request, response) => {
      response.writeHead(503, { "content-type": type });
      const more = () => {
        while (!response.destroyed && response.write("x".repeat(65_536)));
      };
      response.on("drain", more);
      more();
    },
  });
  await expect(reins.sessions.get("s")).rejects.toMatchObject({ name: "ApiError", status: 503 });
});

test("a redirection is not followed, so that no other server gets the token", async () => {
  const other = await LoopbackServer.listen();
  onTestFinished(() => other.close());
  const tokens: (string | undefined)[] = [];
  other.serve(({ headers }, response) => {
    tokens.push(headers.authorization);
    response.end("{}");
  });
  const { reins } = await lying({
    "/v1/sessions/s": (_, response) => response.writeHead(307, { location: `${other.url}/` }).end(),
  });
  await expect(reins.sessions.get("s")).rejects.toMatchObject({ code: "unreachable" });
  expect(tokens).toEqual([]);
});

test.each<[string, unknown]>([
  ["nothing", null],
  ["no session", { sessionId: 4 }],
  ["a list", []],
])("a new session that the server answers with %s is none", async (_, result) => {
  const { reins } = await lying({
    "session/new": (_request, response, { id }) => json(response, { jsonrpc: "2.0", id, result }),
  });
  await expect(reins.sessions.create({ cwd: "/" })).rejects.toMatchObject({ code: "incompatible" });
});

test.each<[string, string, Answer]>([
  ["a page", "session/new", (_, response) => response.writeHead(200).end("<html>")],
  [
    "another response",
    "session/new",
    (_, response) => json(response, { jsonrpc: "2.0", id: 99, result: {} }),
  ],
  ["a page", "initialize", (_, response) => response.writeHead(200, CONNECTED).end("<html>")],
  ["another response", "initialize", (_, response) => json(response, { id: 99, result: {} }, CONNECTED)],
  [
    "no connection",
    "initialize",
    (_, response, { id }) => json(response, { jsonrpc: "2.0", id, result: {} }),
  ],
])("a server that sends %s for %s is incompatible", async (_, method, answer) => {
  const { reins } = await lying({ [method]: answer });
  await expect(reins.sessions.create({ cwd: "/" })).rejects.toMatchObject({
    name: "ConnectionError",
    code: "incompatible",
  });
});
