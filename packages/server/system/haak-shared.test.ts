import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { hostOperations } from "@reins/api";
import { beforeEach, describe, expect, test } from "vitest";
import { serveHaak } from "./fixtures/haak.ts";

type Serving = Awaited<ReturnType<typeof serveHaak>>;

describe("the API of mail, board and memory", () => {
  let serving: Serving;
  beforeEach(async () => {
    serving = await serveHaak();
  });
  const ask = (...[method, path, asked]: Parameters<Serving["served"]["ask"]>) =>
    serving.served.ask(method, path, asked);

  test("is in the API description", async () => {
    const { paths } = Object((await ask("GET", "/openapi.json")).body);
    for (const { method, path } of hostOperations)
      expect(paths[path]?.[method.toLowerCase()], path).toBeDefined();
  });

  test("sends mail in the caller's name, marks it read, and reports unreadable lines", async () => {
    const letter = { to: "reed", subject: "rain", body: "tonight" };
    expect((await ask("POST", "/v1/mailbox", { body: letter })).status).toBe(204);
    await appendFile(join(serving.harness.home, "agent-mailbox.jsonl"), "nonsense\n");
    const { messages, faults } = Object((await ask("GET", "/v1/mailbox")).body);
    expect(messages).toMatchObject([{ ...letter, to: ["reed"], from: expect.stringMatching(/^user:/) }]);
    expect(faults).toHaveLength(1);
    const others = { messages: [], faults };
    expect((await ask("GET", "/v1/mailbox?agent=coder")).body).toEqual(others);
    for (const agent of ["reed", messages[0].from])
      expect((await ask("GET", `/v1/mailbox?agent=${encodeURIComponent(agent)}`)).body).toEqual({
        messages,
        faults,
      });
    const unread = async () => Object((await ask("GET", "/v1/mailbox/reed")).body).messages;
    expect(await unread()).toEqual(messages);
    const marked = await ask("POST", "/v1/mailbox/reed/read", { body: { messages: [messages[0].id] } });
    expect([marked.status, await unread()]).toEqual([204, []]);
    const { secret } = await serving.served.person({ kind: "agent" });
    expect((await ask("GET", "/v1/mailbox", { as: secret })).status).toBe(403);
    expect((await ask("POST", "/v1/mailbox", { body: { ...letter, from: "reed" } })).status).toBe(400);
    expect((await ask("POST", "/v1/mailbox", { body: { ...letter, body: " " } })).status).toBe(400);
  });

  test("allows every principal to read the board and post under its name", async () => {
    const post = (content: string, as?: string) => ask("POST", "/v1/board", { body: { content }, as });
    expect((await post("the mill is closed")).status).toBe(204);
    expect((await post("x".repeat(5_000))).status).toBe(413);
    const { secret } = await serving.served.person({ kind: "agent" });
    expect((await post("let me in", secret)).status).toBe(403);
    const { lines } = Object((await ask("GET", "/v1/board?lines=5", { as: secret })).body);
    expect(lines).toEqual([expect.stringMatching(/^\[user:.+\] the mill is closed \(/)]);
  });

  test("keeps the memory of one user's sessions", async () => {
    const add = (content: string, more: object = {}) =>
      ask("POST", "/v1/memory", { body: { content, ...more } });
    const { status, body } = await add("releases are cut on Thursdays", {
      workspace: "/srv",
      confidence: 0.5,
    });
    expect(status).toBe(201);
    expect(body).toMatchObject({
      workspace: "/srv",
      confidence: 0.5,
      source: expect.stringMatching(/^user:/),
    });
    await add("the mill is closed");
    const facts = async (query: string, as?: string) =>
      Object((await ask("GET", `/v1/memory${query}`, { as })).body).facts;
    expect(await facts("?limit=1")).toMatchObject([{ content: "the mill is closed" }]);
    expect(await facts("?query=releases")).toMatchObject([
      { content: expect.stringContaining("Thursdays"), score: expect.any(Number) },
    ]);
    expect(await facts("?query=releases&workspace=/elsewhere")).toEqual([]);
    const { secret } = await serving.served.person();
    expect(await facts("", secret)).toEqual([]);
    const { id } = Object(body);
    expect((await ask("DELETE", `/v1/memory/${id}`, { as: secret })).status).toBe(404);
    expect((await ask("DELETE", `/v1/memory/${id}`)).status).toBe(204);
    expect((await ask("DELETE", `/v1/memory/${id}`)).status).toBe(404);
    for (const wrong of [
      { content: " " },
      { content: "x", workspace: "here" },
      { content: "x", confidence: 2 },
    ])
      expect((await ask("POST", "/v1/memory", { body: wrong })).status, JSON.stringify(wrong)).toBe(400);
  });
});
