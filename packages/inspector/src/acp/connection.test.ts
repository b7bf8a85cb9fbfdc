import type { Stream } from "@agentclientprotocol/sdk";
import { describe, expect, test, vi } from "vitest";
import { AcpClient } from "./acp-client.ts";
import { Connection, type ConnectionListener, type Question } from "./connection.ts";

interface Message {
  readonly jsonrpc?: string;
  readonly id?: number | string | null;
  readonly method?: string;
  readonly params?: unknown;
  readonly result?: unknown;
  readonly error?: unknown;
}

type Reply = (params: Readonly<Record<string, unknown>>) => unknown;

/** The other end of a connection: records what the page sends and answers requests as scripted. */
class Peer {
  readonly received: Message[] = [];
  readonly replies: Record<string, Reply> = { initialize: () => ({ protocolVersion: 1 }) };
  #controller: ReadableStreamDefaultController | undefined;

  get stream(): Stream {
    const readable = new ReadableStream({
      start: (controller) => {
        this.#controller = controller;
      },
    });
    return { readable, writable: new WritableStream({ write: (message) => this.#receive(message) }) };
  }

  /** Messages of a method that the page sent. */
  sent(method: string): readonly unknown[] {
    return this.received.filter((message) => message.method === method).map(({ params }) => params);
  }

  send(message: Message): void {
    this.#controller?.enqueue({ jsonrpc: "2.0", ...message });
  }

  #receive(message: Message): void {
    this.received.push(message);
    if (message.method === undefined || message.id === undefined) return;
    const reply = this.replies[message.method];
    const { id = null } = message;
    try {
      const result = reply ? reply(Object(message.params)) : {};
      if (result !== undefined) this.send({ id, result });
    } catch (error) {
      this.send({ id, error: { code: -32_000, message: error instanceof Error ? error.message : "" } });
    }
  }
}

const settle = () => new Promise((resolve) => setTimeout(resolve, 10));

async function opened() {
  const peer = new Peer();
  const questions: Question[] = [];
  const listener = {
    onUpdate: vi.fn(),
    onQuestion: vi.fn((_: string, question: Question) => questions.push(question)),
    onCancelled: vi.fn(),
    onGap: vi.fn(),
    onEnded: vi.fn(),
    onTurn: vi.fn(),
  } satisfies ConnectionListener;
  const connection = await Connection.open(peer.stream, listener);
  return { peer, listener, connection, questions };
}

describe("a connection", () => {
  test("initializes with what the page supports", async () => {
    const { peer } = await opened();
    expect(peer.sent("initialize")).toMatchObject([
      {
        protocolVersion: 1,
        clientInfo: { name: "reins-inspector" },
        clientCapabilities: { elicitation: { form: {}, url: {} } },
        _meta: { reins: { turns: true } },
      },
    ]);
  });

  test("passes on every update, also of kinds that the SDK does not know", async () => {
    const { peer, listener } = await opened();
    const update = { sessionUpdate: "from_the_future", what: { a: 1 } };
    peer.send({ method: "session/update", params: { sessionId: "s", update } });
    await settle();
    expect(listener.onUpdate).toHaveBeenCalledExactlyOnceWith("s", update);
  });

  test("passes on turns, gaps and ends of sessions", async () => {
    const { peer, listener } = await opened();
    peer.send({ method: "_reins/session/turn", params: { sessionId: "s", state: "running" } });
    peer.send({ method: "_reins/gap", params: { sessionId: "s" } });
    peer.send({ method: "_sandboxagent/session/ended", params: { sessionId: "s" } });
    await settle();
    expect(listener.onTurn).toHaveBeenCalledExactlyOnceWith("s", "running");
    expect(listener.onGap).toHaveBeenCalledExactlyOnceWith("s");
    expect(listener.onEnded).toHaveBeenCalledExactlyOnceWith("s");
  });

  test("reads a permission request with its approval, and returns the answer", async () => {
    const { peer, listener, questions } = await opened();
    const params = {
      sessionId: "s",
      toolCall: { toolCallId: "t", title: "make" },
      options: [{ optionId: "yes", name: "Yes", kind: "allow_once" }],
      _meta: { reins: { approval: "p", reason: "builds ask" } },
    };
    peer.send({ id: 7, method: "session/request_permission", params });
    await settle();
    expect(questions).toMatchObject([
      { kind: "permission", call: { title: "make" }, approval: "p", reason: "builds ask" },
    ]);
    questions[0]?.answer({ outcome: { outcome: "selected", optionId: "yes" } });
    await settle();
    expect(peer.received.at(-1)).toMatchObject({ id: 7, result: { outcome: { optionId: "yes" } } });
    expect(listener.onCancelled).toHaveBeenCalledExactlyOnceWith("s", questions[0]?.id);
  });

  test("reads a form and an address to open", async () => {
    const { peer, questions } = await opened();
    const form = { sessionId: "s", message: "Which?", requestedSchema: { type: "object" } };
    peer.send({ id: 8, method: "elicitation/create", params: { ...form, mode: "form" } });
    peer.send({
      id: 9,
      method: "elicitation/create",
      params: { ...form, mode: "url", url: "https://a.test" },
    });
    await settle();
    expect(questions).toMatchObject([
      { kind: "elicitation", message: "Which?", schema: { type: "object" }, url: undefined },
      { kind: "elicitation", url: "https://a.test" },
    ]);
    expect(new Set(questions.map(({ id }) => id)).size).toBe(2);
  });

  test.each([
    ["session/request_permission", { sessionId: "s", toolCall: {}, options: "none" }],
    ["session/request_permission", { sessionId: "s", toolCall: {}, options: [{ optionId: "yes" }] }],
    ["session/request_permission", { sessionId: 7, toolCall: {}, options: [] }],
    ["elicitation/create", { sessionId: "s", message: 7 }],
    ["elicitation/create", { message: "without a session" }],
  ])("rejects a malformed question: %s %j", async (method, params) => {
    const { peer, questions } = await opened();
    peer.send({ id: 7, method, params });
    await settle();
    expect(peer.received.at(-1)).toMatchObject({ id: 7, error: {} });
    expect(questions).toEqual([]);
  });

  test("shows a permission request whose tool call or options say less than they may", async () => {
    const { peer, questions } = await opened();
    const options = [{ optionId: "yes", name: "Yes" }];
    peer.send({ id: 7, method: "session/request_permission", params: { sessionId: "s", options } });
    await settle();
    expect(questions).toMatchObject([{ kind: "permission", call: undefined, options, approval: undefined }]);
  });

  test.each([
    ["session/request_permission", { options: [] }, { outcome: { outcome: "cancelled" } }],
    ["elicitation/create", { message: "Which?" }, { action: "cancel" }],
  ])("answers a question that the agent cancels: %s", async (method, params, result) => {
    const { peer, listener, questions } = await opened();
    peer.send({ id: 7, method, params: { sessionId: "s", ...params } });
    await settle();
    peer.send({ method: "$/cancel_request", params: { requestId: 7 } });
    await settle();
    expect(listener.onCancelled).toHaveBeenCalledExactlyOnceWith("s", questions[0]?.id);
    expect(peer.received.at(-1)).toMatchObject({ id: 7, result });
  });

  test.each([
    { method: "session/update", params: { update: { sessionUpdate: "plan" } } },
    { method: "session/update", params: { sessionId: "s", update: { sessionUpdate: 7 } } },
    { method: "session/update", params: null },
    { method: "_reins/session/turn", params: { sessionId: "s", state: "resting" } },
    { method: "_reins/gap", params: {} },
  ])("ignores a malformed notification: %j", async (message) => {
    const quiet = vi.spyOn(console, "error").mockImplementation(() => undefined);
    const { peer, listener, connection } = await opened();
    peer.send(message);
    await settle();
    for (const called of [listener.onUpdate, listener.onTurn, listener.onGap])
      expect(called).not.toHaveBeenCalled();
    expect(connection.signal.aborted).toBe(false);
    quiet.mockRestore();
  });

  test("aborts its signal when it is closed", async () => {
    const { connection } = await opened();
    expect(connection.signal.aborted).toBe(false);
    connection.close();
    await settle();
    expect(connection.signal.aborted).toBe(true);
  });
});

describe("the client of the page", () => {
  function newClient(peer: Peer) {
    let id = 0;
    return new AcpClient({
      open: (listener) => Connection.open(peer.stream, listener),
      schedule: (run) => queueMicrotask(run),
      now: () => 0,
      after: () => () => undefined,
      newId: () => `p${++id}`,
      random: () => 0,
    });
  }
  const notesOf = (client: AcpClient) =>
    client
      .attach("s")
      .view.current()
      .conversation.items.flatMap((item) => (item.kind === "note" ? [`${item.tone}: ${item.text}`] : []));

  test.each([
    ["end_turn", []],
    ["cancelled", ["note: The turn was cancelled."]],
    ["max_tokens", ["note: The turn ended: the model reached its token limit."]],
    ["max_turn_requests", ["note: The turn ended: it reached the limit of model requests."]],
  ])("notes the stop reason %s", async (stopReason, notes) => {
    const peer = new Peer();
    peer.replies["session/prompt"] = () => ({ stopReason });
    const client = newClient(peer);
    await client.prompt("s", "hello");
    await settle();
    expect(notesOf(client)).toEqual(notes);
  });

  test("names each prompt, and notes an error of its turn", async () => {
    const peer = new Peer();
    peer.replies["session/prompt"] = () => {
      throw new Error("the agent has ended");
    };
    const client = newClient(peer);
    await client.prompt("s", "hello");
    await settle();
    expect(peer.sent("session/prompt")).toMatchObject([
      { sessionId: "s", prompt: [{ type: "text", text: "hello" }], _meta: { reins: { prompt: "p1" } } },
    ]);
    expect(notesOf(client)).toEqual([expect.stringContaining("the agent has ended")]);
    expect(client.attach("s").view.current().waiting).toEqual([]);
  });

  test("removes a queued prompt when it is cancelled, and notes nothing", async () => {
    const peer = new Peer();
    peer.replies["session/prompt"] = () => undefined;
    const client = newClient(peer);
    const prompted = client.prompt("s", "hello");
    await settle();
    expect(client.attach("s").view.current().waiting).toMatchObject([{ id: "p1", text: "hello" }]);
    client.cancelPrompt("s", "p1");
    expect(client.attach("s").view.current().waiting).toEqual([]);
    await settle();
    expect(notesOf(client)).toEqual([]);
    expect(
      peer.received.some(({ method }) => method === "$/cancel_request" || method === "session/cancel"),
    ).toBe(true);
    void prompted;
  });

  test("creates, forks, stops and ends sessions", async () => {
    const peer = new Peer();
    peer.replies["session/new"] = () => ({ sessionId: "n" });
    peer.replies["session/fork"] = () => ({ sessionId: "f" });
    const client = newClient(peer);
    await expect(client.create("pond", "/w")).resolves.toBe("n");
    expect(peer.sent("session/new")).toEqual([
      { cwd: "/w", mcpServers: [], _meta: { reins: { agent: "pond" } } },
    ]);
    await expect(client.fork("n", "/w", "Fork of n")).resolves.toBe("f");
    expect(peer.sent("_sandboxagent/session/set_metadata")).toEqual([
      { sessionId: "f", metadata: { title: "Fork of n" } },
    ]);
    await client.stop("n");
    await client.terminate("n");
    await settle();
    expect(peer.sent("session/cancel")).toEqual([{ sessionId: "n" }]);
    expect(peer.sent("_sandboxagent/session/terminate")).toEqual([{ sessionId: "n" }]);
  });

  test.each(["session/new", "session/fork"])(
    "reports a response to %s without a session id",
    async (method) => {
      const peer = new Peer();
      peer.replies[method] = () => ({ sessionId: 7 });
      const client = newClient(peer);
      const made = method === "session/new" ? client.create("pond", "/w") : client.fork("n", "/w", "Fork");
      await expect(made).rejects.toThrow("no session id");
    },
  );

  test("shows the settings of the response to a change", async () => {
    const peer = new Peer();
    const option = { id: "model", name: "Model", type: "select", currentValue: "demo", options: [] };
    peer.replies["session/set_config_option"] = () => ({ configOptions: [option] });
    const client = newClient(peer);
    const { view } = client.attach("s");
    await settle();
    await client.choose("s", { id: "model", isMode: false }, "demo");
    expect(view.current().conversation.settings).toMatchObject([{ id: "model", current: "demo" }]);
  });

  test("changes modes and options by their own methods", async () => {
    const peer = new Peer();
    const client = newClient(peer);
    await client.choose("s", { id: "mode", isMode: true }, "plan");
    await client.choose("s", { id: "model", isMode: false }, "demo");
    expect(peer.sent("session/set_mode")).toEqual([{ sessionId: "s", modeId: "plan" }]);
    expect(peer.sent("session/set_config_option")).toEqual([
      { sessionId: "s", configId: "model", value: "demo" },
    ]);
  });

  test("detaches from the least recently viewed session when there are too many", async () => {
    const peer = new Peer();
    const client = newClient(peer);
    for (let index = 1; index <= 8; index += 1) client.attach(`s${index}`);
    client.attach("s1");
    client.attach("s9");
    await settle();
    expect(peer.sent("_sandboxagent/session/detach")).toEqual([{ sessionId: "s2" }]);
  });

  test("reads a history without attaching", async () => {
    const peer = new Peer();
    const update = { sessionUpdate: "agent_message_chunk", content: { type: "text", text: "hi" } };
    peer.replies["_reins/session/history"] = ({ after }) =>
      after === 0 ? { updates: [update], next: 5 } : { updates: [update], next: null };
    const items = await newClient(peer).history("s", 9);
    expect(items).toMatchObject([{ kind: "message", text: "hihi" }]);
    expect(peer.sent("_reins/session/history")).toEqual([
      { sessionId: "s", after: 0, until: 9 },
      { sessionId: "s", after: 5, until: 9 },
    ]);
    expect(peer.sent("session/load")).toEqual([]);
  });

  test("notes a gap, and the end of a session", async () => {
    const peer = new Peer();
    const client = newClient(peer);
    client.attach("s");
    await settle();
    peer.send({ method: "_reins/gap", params: { sessionId: "s" } });
    await settle();
    expect(notesOf(client)).toEqual(["warn: Some earlier messages are no longer kept."]);
  });
});
