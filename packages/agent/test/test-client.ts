import { type Channel, CODE, type JsonObject, membersOf, RpcError } from "@reins/acp";
import { onTestFinished } from "vitest";
import type { NativeAgentOptions } from "../src/agent-dependencies.ts";
import { NativeAgent } from "../src/native-agent.ts";

/** The answer to a permission request: a kind of option, or a whole response. */
export type Answer = (toolCall: JsonObject) => string | JsonObject | Promise<string | JsonObject>;

/** A message, as loosely as a test needs it. */
// biome-ignore lint/suspicious/noExplicitAny: tests look into messages of every shape
export type Loose = any;

/** A client of a native agent in the same process, by raw JSON-RPC. */
export class TestClient {
  /** Every `session/update`, in order. */
  readonly updates: Loose[] = [];
  /** Every tool call that asked permission. */
  readonly asked: Loose[] = [];
  /** Every message of the agent. */
  readonly messages: Loose[] = [];
  answer: Answer = () => "allow_once";
  /** Answers the requests of the agent to its host; by default it knows none. */
  serve: (method: string, params: Loose) => unknown = (method) => {
    throw new RpcError(CODE.methodNotFound, `"${method}" is not known here`);
  };
  /** Receives every update. */
  onUpdate: (update: Loose) => void = () => undefined;
  readonly agent: NativeAgent;
  readonly #pending = new Map<number, { resolve(value: Loose): void; reject(error: unknown): void }>();
  #listener: ((message: JsonObject) => void | Promise<void>) | undefined;
  #next = 1;

  constructor(options: NativeAgentOptions = {}) {
    const channel: Channel = {
      send: async (message) => this.#receive(message),
      onMessage: (listener) => {
        this.#listener = listener;
      },
      closed: new Promise(() => undefined),
    };
    this.agent = new NativeAgent(channel, options);
    onTestFinished(() => this.agent.close());
  }

  /** Initializes a client and creates a session. */
  static async open(
    cwd: string,
    options: NativeAgentOptions = {},
  ): Promise<TestClient & { sessionId: string }> {
    const client = new TestClient(options);
    await client.request("initialize", { protocolVersion: 1 });
    const { sessionId } = await client.request("session/new", { cwd, mcpServers: [] });
    return Object.assign(client, { sessionId });
  }

  request(method: string, params: JsonObject = {}): Promise<Loose> {
    return this.requestWithId(method, params).answer;
  }

  /** A request with the id by which it can be cancelled. */
  requestWithId(
    method: string,
    params: JsonObject,
  ): { readonly id: number; readonly answer: Promise<Loose> } {
    const id = this.#next++;
    const answer = new Promise((resolve, reject) => this.#pending.set(id, { resolve, reject }));
    this.send({ jsonrpc: "2.0", id, method, params });
    return { id, answer };
  }

  notify(method: string, params: JsonObject): void {
    this.send({ jsonrpc: "2.0", method, params });
  }

  send(message: JsonObject): void {
    void this.#listener?.(message);
  }

  prompt(sessionId: string, text: string): Promise<Loose> {
    return this.request("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
  }

  /** The updates of a kind. */
  of(kind: string): Loose[] {
    return this.updates.map(({ update }) => update).filter(({ sessionUpdate }) => sessionUpdate === kind);
  }

  /** The agent's text so far. */
  get said(): string {
    return this.of("agent_message_chunk")
      .map(({ content }) => content.text)
      .join("");
  }

  /** The agent's thoughts so far. */
  get thought(): string {
    return this.of("agent_thought_chunk")
      .map(({ content }) => content.text)
      .join("");
  }

  #receive(message: Loose): void {
    this.messages.push(message);
    if (message.method === "session/update") {
      this.updates.push(message.params);
      this.onUpdate(message.params.update);
    } else if (message.method === "session/request_permission") void this.#permit(message);
    else if (message.method === undefined) this.#settle(message);
    else if (message.id !== undefined) void this.#serve(message);
  }

  async #serve({ id, method, params }: Loose): Promise<void> {
    try {
      this.send({ jsonrpc: "2.0", id, result: await this.serve(method, params) });
    } catch (error) {
      const { code = -32_603, message } = error instanceof RpcError ? error : { message: String(error) };
      this.send({ jsonrpc: "2.0", id, error: { code, message } });
    }
  }

  async #permit({ id, params }: Loose): Promise<void> {
    this.asked.push(params.toolCall);
    const wanted = await this.answer(params.toolCall);
    const option = params.options.find(({ kind }: Loose) => kind === wanted);
    const outcome = option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" };
    this.send({ jsonrpc: "2.0", id, result: typeof wanted === "string" ? { outcome } : wanted });
  }

  #settle({ id, result, error }: Loose): void {
    const waiting = this.#pending.get(id);
    this.#pending.delete(id);
    if (error) waiting?.reject(Object.assign(new Error(String(membersOf(error).message)), error));
    else waiting?.resolve(result);
  }
}
