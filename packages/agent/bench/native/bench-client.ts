import type { Channel, JsonObject } from "@reins/acp";
import { NativeAgent, type NativeAgentOptions } from "../../src/index.ts";

/** Milliseconds of a turn since its prompt. */
export interface TurnTimes {
  readonly firstWords: number;
  readonly end: number;
}

interface Running {
  readonly began: number;
  firstWords: number | undefined;
}

/** A client that allows everything and measures time. */
export class BenchClient {
  readonly #agent: NativeAgent;
  readonly #pending = new Map<unknown, (message: JsonObject) => void>();
  readonly #running = new Map<string, Running>();
  #listener: (message: JsonObject) => void | Promise<void> = () => undefined;
  #next = 1;

  constructor(options: NativeAgentOptions = {}) {
    const channel: Channel = {
      send: async (message) => this.#take(message),
      onMessage: (listener) => {
        this.#listener = listener;
      },
      closed: new Promise(() => undefined),
    };
    this.#agent = new NativeAgent(channel, options);
  }

  /** Creates a session. */
  async begin(cwd: string): Promise<string> {
    const { result } = await this.#ask("session/new", { cwd, mcpServers: [] });
    return String(memberOf(result, "sessionId"));
  }

  /** Runs one turn. */
  async turn(sessionId: string, text: string): Promise<TurnTimes> {
    const running: Running = { began: performance.now(), firstWords: undefined };
    this.#running.set(sessionId, running);
    const { error } = await this.#ask("session/prompt", { sessionId, prompt: [{ type: "text", text }] });
    if (error !== undefined) throw new Error(JSON.stringify(error));
    const end = performance.now() - running.began;
    return { firstWords: running.firstWords ?? end, end };
  }

  close(): Promise<void> {
    return this.#agent.close();
  }

  #ask(method: string, params: JsonObject): Promise<JsonObject> {
    const id = this.#next++;
    return new Promise((resolve) => {
      this.#pending.set(id, resolve);
      void this.#listener({ jsonrpc: "2.0", id, method, params });
    });
  }

  #take(message: JsonObject): void {
    const { id, method, params } = message;
    if (method === "session/update") this.#note(params);
    else if (method === "session/request_permission") {
      const outcome = { outcome: "selected", optionId: "allow_once" };
      void this.#listener({ jsonrpc: "2.0", id, result: { outcome } });
    } else if (method === undefined) this.#pending.get(id)?.(message);
  }

  #note(params: unknown): void {
    const running = this.#running.get(String(memberOf(params, "sessionId")));
    if (!running || running.firstWords !== undefined) return;
    if (memberOf(memberOf(params, "update"), "sessionUpdate") === "agent_message_chunk")
      running.firstWords = performance.now() - running.began;
  }
}

function memberOf(value: unknown, name: string): unknown {
  return typeof value === "object" && value !== null ? Reflect.get(value, name) : undefined;
}
