import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { createOpencodeClient as createFirstClient } from "@opencode-ai/sdk/client";
import { describe, expect, test } from "vitest";
import { agentsForAll, serveAgents } from "./fixtures/agents.ts";
import type { Served } from "./fixtures/home.ts";
import { dataOf, EventReader, type OpenCodeServer, opencodeClient } from "./fixtures/opencode.ts";

const home = agentsForAll();
const text = (words: string) => [{ type: "text" as const, text: words }];

const as = ({ address, access }: Served, token = access.token): OpenCodeServer => ({ address, token });

/** A session of a client, with the events of its principal. */
async function begun({ agent }: { readonly agent?: string } = {}) {
  const served = await serveAgents(home());
  const client = opencodeClient(as(served), home().workspace);
  const events = await EventReader.open(as(served));
  const session = await dataOf(client.session.create({ title: "T", ...(agent !== undefined && { agent }) }));
  return { served, client, events, session, sessionID: session.id };
}

/** The problem that a call of the SDK fails with. */
async function problemOf(call: Promise<unknown>): Promise<Record<string, unknown>> {
  try {
    await call;
  } catch (error) {
    const { cause } = Object(error);
    return Object(Object(cause).body ?? error);
  }
  throw new Error("the call has succeeded");
}

describe("OpenCode's published SDK", () => {
  test("creates a session, prompts it, and gets the turn as its answer and as events", async () => {
    const { client, events, session, sessionID } = await begun();
    expect(session).toMatchObject({ title: "T", directory: home().workspace, projectID: "global" });
    const data = await dataOf(client.session.prompt({ sessionID, parts: text("say hello") }));
    expect(data.info).toMatchObject({ role: "assistant", finish: "stop", sessionID, agent: "stub" });
    expect(data.parts).toMatchObject([{ type: "text", text: "hello" }]);
    await expect.poll(() => events.types).toContain("session.idle");
    expect(events.types).toEqual([
      ...["server.connected", "session.created", "session.updated"],
      ...["message.updated", "message.part.updated", "session.status"],
      ...["message.updated", "message.part.updated", "message.part.delta"],
      ...["message.part.updated", "message.updated", "session.status", "session.idle"],
    ]);
    expect(events.of("message.part.delta")).toMatchObject([{ field: "text", delta: "hello" }]);
    const messages = await dataOf(client.session.messages({ sessionID }));
    expect(messages.map(({ info }) => info.role)).toEqual(["user", "assistant"]);
    expect(messages[1]).toEqual(data);
    expect(messages[0]?.parts).toMatchObject([{ type: "text", text: "say hello" }]);
    const one = await dataOf(client.session.message({ sessionID, messageID: data.info.id }));
    expect(one).toEqual(data);
    const newest = await dataOf(client.session.messages({ sessionID, limit: 1 }));
    expect(newest).toEqual([data]);
  });

  test("names its message itself, and finds it under that name", async () => {
    const { client, sessionID } = await begun();
    const messageID = "msg_1efc69d980014s2MFM9rc1ESQl";
    const data = await dataOf(client.session.prompt({ sessionID, messageID, parts: text("say hello") }));
    expect(data.info).toMatchObject({ parentID: messageID });
    const own = await dataOf(client.session.message({ sessionID, messageID }));
    expect(own).toMatchObject({ info: { id: messageID, role: "user" } });
  });

  test("prompts once, however often a request with a message of its own is sent", async () => {
    const { client, sessionID } = await begun();
    const messageID = "msg_1efc69d980014s2MFM9rc1ESQm";
    const prompt = () => client.session.prompt({ sessionID, messageID, parts: text("say hello") });
    const answers = await Promise.allSettled([prompt(), prompt(), prompt()]);
    expect(answers.filter(({ status }) => status === "fulfilled")).toHaveLength(1);
    expect(await problemOf(prompt())).toMatchObject({ status: 409, code: "conflict" });
    const other = client.session.promptAsync({ sessionID, messageID, parts: text("say hello") });
    expect(await problemOf(other)).toMatchObject({ status: 409 });
    const messages = await dataOf(client.session.messages({ sessionID }));
    expect(messages.map(({ info }) => info.role)).toEqual(["user", "assistant"]);
  });

  test("lists, renames and deletes sessions", async () => {
    const { client, events, sessionID } = await begun();
    const renamed = await dataOf(client.session.update({ sessionID, title: "Other" }));
    expect(renamed).toMatchObject({ id: sessionID, title: "Other" });
    await expect.poll(() => events.of("session.updated")).toContainEqual({ sessionID, info: renamed });
    const listed = await dataOf(client.session.list({ search: "othe" }));
    expect(listed.map(({ id }) => id)).toContain(sessionID);
    expect((await client.session.list({ directory: "/nowhere" })).data).toEqual([]);
    expect((await client.session.children({ sessionID })).data).toEqual([]);
    expect((await client.session.todo({ sessionID })).data).toEqual([]);
    expect((await client.session.delete({ sessionID })).data).toBe(true);
    await expect.poll(() => events.types).toContain("session.deleted");
    expect(await problemOf(client.session.get({ sessionID }))).toMatchObject({ code: "not_found" });
  });

  test("is asked for a permission; `once` lets the call pass", async () => {
    const { client, events, sessionID } = await begun();
    const path = join(home().workspace, "once.txt");
    await client.session.promptAsync({ sessionID, parts: text(`write ${path}`) });
    await expect.poll(() => events.types).toContain("permission.asked");
    const [asked = {}] = events.of("permission.asked");
    expect(asked).toMatchObject({ sessionID, permission: "edit", patterns: [path] });
    expect((await client.session.status()).data).toMatchObject({ [sessionID]: { type: "busy" } });
    const pending = await dataOf(client.permission.list());
    const { tool: _, ...listed } = asked;
    expect(pending).toContainEqual(listed);
    const requestID = String(asked.id);
    expect((await client.permission.reply({ requestID, reply: "once" })).data).toBe(true);
    await expect.poll(() => events.types).toContain("session.idle");
    expect(events.of("permission.replied")).toEqual([{ sessionID, requestID, reply: "once" }]);
    expect(await readFile(path, "utf8")).toBe("done\n");
    await expect.poll(async () => (await client.session.status()).data).toEqual({});
    const late = await problemOf(client.permission.reply({ requestID, reply: "reject" }));
    expect(late).toMatchObject({ status: 409, code: "conflict" });
    const messages = await dataOf(client.session.messages({ sessionID }));
    expect(messages[1]?.parts).toMatchObject([
      { type: "tool", callID: expect.any(String), tool: "Write", state: { status: "completed" } },
      { type: "text", text: "yes" },
    ]);
  });

  test("sees the turn under way on a stream that is opened in it, and the end before the answer", async () => {
    const { served, client, sessionID } = await begun();
    const path = join(home().workspace, "late.txt");
    const turn = client.session.prompt({ sessionID, parts: text(`write ${path}`) });
    await expect.poll(async () => (await client.permission.list()).data).toHaveLength(1);
    const late = await EventReader.open(as(served));
    await expect.poll(() => late.types).toContain("permission.asked");
    expect(late.types).toEqual([
      ...["server.connected", "message.updated", "message.part.updated"],
      ...["message.updated", "message.part.updated", "session.status", "permission.asked"],
    ]);
    const [asked = {}] = late.of("permission.asked");
    await client.permission.reply({ requestID: String(asked.id), reply: "once" });
    await dataOf(turn);
    await expect.poll(() => late.types).toContain("session.idle");
    const completed = late.of("message.part.updated").filter(({ part }) => Object(part).type === "text");
    expect(completed.at(-1)).toMatchObject({ part: { text: "yes", time: { end: expect.any(Number) } } });
  });

  test("rejects a permission by the older call too, and nothing is written", async () => {
    const { served, client, events, sessionID } = await begun();
    const first = createFirstClient({
      baseUrl: `${served.address}/opencode`,
      headers: { authorization: `Bearer ${served.access.token}` },
    });
    const path = join(home().workspace, "rejected.txt");
    await client.session.promptAsync({ sessionID, parts: text(`write ${path}`) });
    await expect.poll(() => events.types).toContain("permission.asked");
    const permissionID = String(events.of("permission.asked")[0]?.id);
    const answer = (id: string) =>
      first.postSessionIdPermissionsPermissionId({
        path: { id, permissionID },
        body: { response: "reject" },
      });
    expect((await answer("ses_another")).response.status).toBe(404);
    expect((await answer(sessionID)).data).toBe(true);
    await expect.poll(() => events.types).toContain("session.idle");
    expect(events.of("permission.replied")).toMatchObject([{ reply: "reject" }]);
    await expect(readFile(path)).rejects.toThrow("ENOENT");
  });

  test("aborts a turn", async () => {
    const { client, events, sessionID } = await begun();
    const turn = client.session.prompt({ sessionID, parts: text("say first\nwait") });
    await expect.poll(() => events.types).toContain("message.part.delta");
    expect((await client.session.abort({ sessionID })).data).toBe(true);
    expect((await dataOf(turn)).info).toMatchObject({ error: { name: "MessageAbortedError" } });
    await expect.poll(async () => (await client.session.status()).data).toEqual({});
  });

  test("learns from an event that a prompt failed whose agent has died", async () => {
    const { client, events, sessionID } = await begun();
    await client.session.promptAsync({ sessionID, parts: text("crash") });
    await expect.poll(() => events.types).toContain("session.error");
    expect(events.types.at(-1)).toBe("session.idle");
    await expect.poll(async () => (await client.session.status()).data).toEqual({});
    const again = await dataOf(client.session.prompt({ sessionID, parts: text("say back") }));
    expect(again.parts).toMatchObject([{ type: "text", text: "back" }]);
  });

  test("reads what it needs to start: config, providers, agents, folders and files", async () => {
    const { client } = await begun();
    const [config, providers, agents, path, project, health] = await Promise.all([
      client.config.get(),
      client.config.providers(),
      client.app.agents(),
      client.path.get(),
      client.project.current(),
      client.global.health(),
    ]);
    expect(config.data).toMatchObject({ model: "reins/default", share: "disabled" });
    expect(providers.data).toMatchObject({ providers: [{ id: "reins" }], default: { reins: "default" } });
    expect(agents.data?.[0]).toMatchObject({ name: "stub", mode: "primary", hidden: false });
    expect(path.data).toMatchObject({ directory: home().workspace });
    expect(project.data).toMatchObject({ id: "global", worktree: home().workspace });
    expect(health.data).toMatchObject({ healthy: true });
    await writeFile(join(home().workspace, "notes.md"), "some notes\n");
    const entries = await dataOf(client.file.list({ path: "." }));
    expect(entries).toContainEqual({
      ...{ name: "notes.md", path: "notes.md", absolute: join(home().workspace, "notes.md") },
      ...{ type: "file", ignored: false },
    });
    const content = await dataOf(client.file.read({ path: "notes.md" }));
    expect(content).toEqual({ type: "text", content: "some notes\n" });
    const missing = await problemOf(client.file.read({ path: "nothing.md" }));
    expect(missing).toMatchObject({ status: 404, code: "not_found" });
  });
});

describe("OpenCode's API", () => {
  test("shows another tenant nothing", async () => {
    const { served, client, events, sessionID } = await begun();
    await client.session.prompt({ sessionID, parts: text("say secret") });
    const { secret } = await served.person({ tenant: "acme", roles: ["admin"] });
    const other = opencodeClient(as(served, secret));
    const overheard = await EventReader.open(as(served, secret));
    const path = join(home().workspace, "tenant.txt");
    await client.session.promptAsync({ sessionID, parts: text(`write ${path}`) });
    await expect.poll(() => events.types).toContain("permission.asked");
    const requestID = String(events.of("permission.asked")[0]?.id);
    const calls = [
      () => other.session.get({ sessionID }),
      () => other.session.messages({ sessionID }),
      () => other.session.prompt({ sessionID, parts: text("say hello") }),
      () => other.session.promptAsync({ sessionID, parts: text("say hello") }),
      () => other.session.abort({ sessionID }),
      () => other.session.delete({ sessionID }),
      () => other.session.update({ sessionID, title: "mine" }),
      () => other.permission.reply({ requestID, reply: "once" }),
    ];
    for (const call of calls)
      expect(await problemOf(call())).toMatchObject({ status: 404, code: "not_found" });
    const file = { path: "notes.md", directory: home().workspace };
    expect(await problemOf(other.file.read(file))).toMatchObject({ status: 403, code: "forbidden" });
    expect((await other.session.list()).data).toEqual([]);
    expect((await other.permission.list()).data).toEqual([]);
    expect((await other.session.status()).data).toEqual({});
    await client.permission.reply({ requestID, reply: "reject" });
    await expect.poll(() => events.of("session.idle").length).toBe(2);
    expect(overheard.types).toEqual(["server.connected"]);
  });

  test("lets no agent answer, and no user that an approval does not concern", async () => {
    const { served, client, events, sessionID } = await begun();
    await client.session.promptAsync({
      sessionID,
      parts: text(`write ${join(home().workspace, "agent.txt")}`),
    });
    await expect.poll(() => events.types).toContain("permission.asked");
    const requestID = String(events.of("permission.asked")[0]?.id);
    for (const given of [{ kind: "agent" as const, roles: ["admin"] }, {}]) {
      const { secret } = await served.person(given);
      const other = opencodeClient(as(served, secret));
      expect((await other.permission.list()).data).toEqual([]);
      const refused = await problemOf(other.permission.reply({ requestID, reply: "once" }));
      expect(refused).toMatchObject({ status: 403, code: "forbidden" });
    }
    await client.session.abort({ sessionID });
    await expect.poll(() => events.of("permission.replied")).toMatchObject([{ requestID, reply: "reject" }]);
  });

  test("shows an admin the sessions of its tenant, and a user its own alone", async () => {
    const { served, client, sessionID } = await begun();
    const [admin, user] = [await served.person({ roles: ["admin"] }), await served.person()];
    const seen = await EventReader.open(as(served, admin.secret));
    const unseen = await EventReader.open(as(served, user.secret));
    await client.session.prompt({ sessionID, parts: text("say hello") });
    await expect.poll(() => seen.types).toContain("session.idle");
    expect(unseen.types).toEqual(["server.connected"]);
    expect(await problemOf(opencodeClient(as(served, user.secret)).session.get({ sessionID }))).toMatchObject(
      {
        status: 404,
      },
    );
  });

  test("takes the token as the password of basic authentication, on its own paths alone", async () => {
    const served = await serveAgents(home());
    const basic = (password: string) => `Basic ${Buffer.from(`opencode:${password}`).toString("base64")}`;
    const asked = async (path: string, authorization: string) =>
      (await fetch(`${served.address}${path}`, { headers: { authorization } })).status;
    expect(await asked("/opencode/session", basic(served.access.token))).toBe(200);
    expect(await asked("/opencode/session", basic("wrong"))).toBe(401);
    expect(await asked("/opencode/session", "Basic ?")).toBe(401);
    expect(await asked("/v1/sessions", basic(served.access.token))).toBe(401);
  });

  test("answers 501 for what is not mapped, and 400 for what is malformed, as problems", async () => {
    const { served, client, sessionID } = await begun();
    const { token } = as(served);
    const asked = async (method: string, path: string, body?: unknown) => {
      const response = await fetch(`${served.address}/opencode${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
      });
      expect(response.headers.get("content-type")).toContain("application/problem+json");
      return [response.status, Object(await response.json()).code];
    };
    const of = (path: string) => `/session/${sessionID}${path}`;
    const unmapped: readonly [string, string, unknown?][] = [
      ["GET", ""],
      ["GET", "/api/session"],
      ["GET", "/constructor"],
      ["GET", "/tui/control/next"],
      ["POST", "/instance/dispose"],
      ["PUT", "/auth/anthropic", { type: "api", key: "k" }],
      ["POST", of("/share")],
      ["POST", of("/shell"), { agent: "stub", command: "ls" }],
      ["POST", of("/revert"), { messageID: "msg_1" }],
      ["POST", of("/fork"), { messageID: "msg_1" }],
      ["GET", of("/message?before=msg_1")],
      ["POST", of("/message"), { parts: text("x"), system: "be bad" }],
      ["POST", of("/message"), { parts: text("x"), noReply: true }],
      ["POST", of("/message"), { parts: [{ type: "agent", name: "x" }] }],
      ["PATCH", of(""), { time: { archived: 1 } }],
      ["POST", "/session", { parentID: sessionID }],
      ["POST", "/session", { permission: [{ permission: "*", pattern: "*", action: "allow" }] }],
      ["POST", "/session", { permission: [{ permission: "bash", pattern: "*", action: "deny" }] }],
      ["POST", "/session", { permission: [{ permission: "question", pattern: "*", action: "allow" }] }],
      ["POST", "/session", { permission: { bash: "deny" } }],
    ];
    for (const [method, path, body] of unmapped)
      expect([path, ...(await asked(method, path, body))]).toEqual([path, 501, "not_implemented"]);
    const malformed: readonly [string, string, unknown?][] = [
      ["POST", of("/message"), { parts: 1 }],
      ["POST", of("/message"), { parts: [] }],
      ["POST", of("/message"), "{"],
      ["POST", of("/message"), { parts: text("x"), more: 1 }],
      ["POST", of("/message"), { parts: text("x"), messageID: "../../x" }],
      ["POST", of("/message"), { parts: text("x"), model: { providerID: "openai", modelID: "gpt" } }],
      ["POST", of("/message"), { parts: [{ type: "file", mime: "image/png", url: "javascript:1" }] }],
      ["POST", of("/command"), { command: "a b", arguments: "" }],
      ["POST", "/session", { agent: "nothing" }],
      ["POST", "/session?directory=relative", {}],
      ["GET", "/session?limit=none"],
    ];
    for (const [method, path, body] of malformed)
      expect([path, ...(await asked(method, path, body))]).toEqual([path, 400, "invalid"]);
    expect(await asked("POST", of("/message"), { parts: text("x"), agent: "native" })).toEqual([
      409,
      "conflict",
    ]);
    expect(await asked("GET", "/session/..%2f..")).toEqual([404, "not_found"]);
    const response = await fetch(`${served.address}/opencode/event`, {
      headers: { authorization: `Bearer ${token}`, "last-event-id": "evt_x" },
    });
    expect(response.status).toBe(400);
    const data = await dataOf(client.session.messages({ sessionID }));
    expect(data).toEqual([]);
  });

  test("continues a stream after any event without losing or repeating one", async () => {
    const { served, client, events, sessionID } = await begun();
    await client.session.prompt({ sessionID, parts: [...text("say one"), ...text("say two")] });
    await client.session.promptAsync({
      sessionID,
      parts: text(`write ${join(home().workspace, "resumed.txt")}`),
    });
    await expect.poll(() => events.types).toContain("permission.asked");
    const requestID = String(events.of("permission.asked")[0]?.id);
    await client.permission.reply({ requestID, reply: "reject" });
    await expect.poll(() => events.of("session.idle").length).toBe(2);
    const all = events.logged;
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
    expect(all.map(({ id }) => id)).toEqual(all.map(({ id }) => id).toSorted());
    for (const [index, { frame }] of all.slice(0, -1).entries()) {
      const resumed = await EventReader.open(as(served), frame);
      const rest = all.slice(index + 1);
      await expect.poll(() => resumed.logged.length).toBe(rest.length);
      expect(resumed.logged).toEqual(rest);
      resumed.close();
    }
    const ahead = await EventReader.open(as(served), "999999999.0");
    await expect.poll(() => ahead.types).toEqual(["server.connected", "server.instance.disposed"]);
  });
});
