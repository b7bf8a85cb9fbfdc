import {
  type AgentConnection,
  type AgentContext,
  agent,
  RequestError,
  type Stream,
} from "@agentclientprotocol/sdk";
import { expect, test } from "vitest";
import { AcpClient, retryDelay } from "./acp-client.ts";
import { Connection } from "./connection.ts";

interface Message {
  readonly sessionId: string;
  readonly [member: string]: unknown;
}

/** A server of one session whose connection can be cut; it replays the history to clients that load it. */
class Server {
  readonly log: object[] = [];
  readonly asked: string[] = [];
  isDown = false;
  /** Whether its session has ended, so that it can only be read. */
  isOver = false;
  refusesHello = false;
  /** The number of connections that the client closed. */
  hungUp = 0;
  /** Awaited before a load is answered. */
  gate: Promise<unknown> = Promise.resolve();
  #lines: { readonly connection: AgentConnection; readonly hangUp: () => void }[] = [];

  /** A line to it. */
  connect(): Stream {
    if (this.isDown) throw new Error("connection refused");
    const { here, there, hangUp } = pair(() => {
      this.hungUp += 1;
    });
    const read = (params: unknown) => Object(params) as Message;
    const app = agent({ name: "server" })
      .onRequest("initialize", () => {
        if (this.refusesHello) throw RequestError.authRequired();
        return { protocolVersion: 1 };
      })
      .onRequest("_reins/session/replay", read, () => {
        this.asked.push("replay");
        return {};
      })
      .onRequest("session/load", read, async ({ client }) => {
        this.asked.push("load");
        if (this.isOver) throw RequestError.resourceNotFound();
        await this.gate;
        for (const update of this.log) await client.notify("session/update", { sessionId: "s", update });
        return {};
      })
      .onRequest("session/new", read, async ({ client }) => {
        await client.notify("session/update", { sessionId: "s", update: said("early") });
        return { sessionId: "s" };
      })
      .onRequest("session/prompt", read, async ({ params, client }) => {
        const { prompt, _meta } = params;
        await this.#say(client, {
          sessionUpdate: "user_message_chunk",
          content: Object(prompt)[0],
          _meta: Object(_meta),
        });
        await this.#say(client, said("answer"));
        return { stopReason: "end_turn" };
      });
    this.#lines.push({ connection: app.connect(there), hangUp });
    return here;
  }

  cut(): void {
    for (const { hangUp } of this.#lines.splice(0)) hangUp();
  }

  async ask(params: object): Promise<unknown> {
    return this.#lines[0]!.connection.client.request<unknown, object>("session/request_permission", params);
  }

  async #say(client: AgentContext, update: object): Promise<void> {
    this.log.push(update);
    await client.notify<unknown>("session/update", { sessionId: "s", update });
  }
}

const said = (text: string) => ({ sessionUpdate: "agent_message_chunk", content: { type: "text", text } });

function pair(onCancel: () => void): {
  readonly here: Stream;
  readonly there: Stream;
  readonly hangUp: () => void;
} {
  const out: Stream = new TransformStream();
  let controller: ReadableStreamDefaultController | undefined;
  const readable = new ReadableStream({
    start: (given) => {
      controller = given;
    },
    cancel: onCancel,
  });
  const writable = new WritableStream({ write: (message) => controller?.enqueue(message) });
  return {
    here: { readable, writable: out.writable },
    there: { readable: out.readable, writable },
    hangUp: () => controller?.close(),
  };
}

/** What the client has put off. */
const later: (() => void)[] = [];

function newClient(server: Server): AcpClient {
  let id = 0;
  return new AcpClient({
    open: async (listener) => Connection.open(server.connect(), listener),
    schedule: (run) => queueMicrotask(run),
    now: () => 0,
    after: (_, run) => {
      later.push(run);
      return () => undefined;
    },
    newId: () => `p${++id}`,
    random: () => 0,
  });
}

const textsOf = (client: AcpClient) =>
  client
    .attach("s")
    .view.current()
    .conversation.items.map((item) => (item.kind === "message" ? item.text : item.kind));

/** Waits until everything under way has happened. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 10));

/** Ends the pause before the next retry. */
async function wait(): Promise<void> {
  for (const run of later.splice(0)) run();
  await settle();
}

test("shows a prompt when the log has it, and the response after it", async () => {
  const server = new Server();
  const client = newClient(server);
  client.attach("s");
  await settle();
  await client.prompt("s", "hello");
  expect(textsOf(client)).toEqual(["hello", "answer"]);
  expect(client.attach("s").view.current()).toMatchObject({ waiting: [], running: [], phase: "live" });
});

test("keeps updates that arrive before the id of a new session", async () => {
  const client = newClient(new Server());
  const id = await client.create("native", "/");
  await settle();
  expect(id).toBe("s");
  expect(textsOf(client)).toEqual(["early"]);
});

test("reconnects and continues the session without gaps or duplicates", async () => {
  const server = new Server();
  const client = newClient(server);
  client.attach("s");
  await settle();
  await client.prompt("s", "one");
  server.isDown = true;
  server.cut();
  await settle();
  expect(client.state.current().state).toBe("lost");
  expect(client.attach("s").view.current().phase).toBe("cut");
  server.log.push(said(" and more"));
  await wait();
  expect(client.state.current().state).toBe("lost");
  server.isDown = false;
  await wait();
  expect(client.state.current().state).toBe("open");
  expect(textsOf(client)).toEqual(["one", "answer and more"]);
  expect(server.asked).toEqual(["load", "load"]);
});

test("does not doubt a prompt that is sent during a replay", async () => {
  const server = new Server();
  const loading = Promise.withResolvers<void>();
  server.gate = loading.promise;
  const client = newClient(server);
  const states: unknown[] = [];
  const { view } = client.attach("s");
  view.subscribe(() => states.push(...view.current().waiting.map(({ state }) => state)));
  const prompted = client.prompt("s", "hello");
  loading.resolve();
  await prompted;
  await settle();
  expect(new Set(states)).toEqual(new Set(["sent"]));
});

test("replays a session that ended during a lost connection", async () => {
  const server = new Server();
  const client = newClient(server);
  const { view } = client.attach("s");
  await settle();
  server.isOver = true;
  server.cut();
  await settle();
  await wait();
  expect(view.current().phase).toBe("failed");
  client.attach("s", true);
  await settle();
  expect(view.current().phase).toBe("live");
  expect(server.asked).toEqual(["load", "load", "replay"]);
});

test("closes a connection that the server rejects", async () => {
  const server = new Server();
  server.refusesHello = true;
  const client = newClient(server);
  client.attach("s");
  await settle();
  expect(client.state.current().state).toBe("lost");
  expect(server.hungUp).toBe(1);
});

test("passes a question to the user and the answer to the server", async () => {
  const server = new Server();
  const client = newClient(server);
  const session = client.attach("s");
  await settle();
  const options = [{ optionId: "yes", name: "Yes", kind: "allow_once" }];
  const answer = server.ask({ sessionId: "s", toolCall: { toolCallId: "1", title: "rm" }, options });
  await settle();
  const [question] = session.view.current().questions;
  expect(question).toMatchObject({ kind: "permission", call: { title: "rm" }, options });
  question!.answer({ outcome: { outcome: "selected", optionId: "yes" } });
  expect(await answer).toEqual({ outcome: { outcome: "selected", optionId: "yes" } });
  expect(session.view.current().questions).toEqual([]);
});

test("doubles the retry delay up to a limit, with jitter", () => {
  const most = [1, 2, 3, 4, 5, 6, 7, 50].map((failures) => retryDelay(failures, () => 1));
  expect(most).toEqual([250, 500, 1_000, 2_000, 4_000, 8_000, 10_000, 10_000]);
  expect(retryDelay(3, () => 0)).toBe(500);
});
