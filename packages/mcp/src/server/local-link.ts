import { errorMessage } from "@reins/kit";
import { kindOf, type Message, objectIn, RPC } from "../message.ts";
import type { OpenLink, ServerEvents, ServerLink } from "./server-run.ts";

/** A tool as MCP lists it. */
interface LocalTool {
  readonly name: string;
  readonly description: string;
  /** A JSON Schema of an object. */
  readonly inputSchema: Message;
}

/** An MCP server within this process. */
export interface LocalServer {
  readonly name: string;
  tools(signal: AbortSignal): Promise<readonly LocalTool[]>;
  /** Calls a tool; what it throws is shown to the model as the error of the call. */
  call(name: string, given: unknown, signal: AbortSignal): Promise<string>;
  /** Calls a listener whenever there may be other tools, until the returned function is called; without it, there never are. */
  subscribe?(listener: () => void): () => void;
}

/** Opens a server that runs here. */
export function localLink(server: LocalServer): OpenLink {
  return async (events) => new LocalLink(server, events);
}

/** The version of MCP that is spoken where an agent names none. */
const VERSION = "2025-06-18";

class LocalLink implements ServerLink {
  readonly #server: LocalServer;
  readonly #events: ServerEvents;
  readonly #pending = new Map<number, AbortController>();
  readonly #unsubscribe: (() => void) | undefined;
  #isClosed = false;

  constructor(server: LocalServer, events: ServerEvents) {
    this.#server = server;
    this.#events = events;
    this.#unsubscribe = server.subscribe?.(() =>
      events.message({ jsonrpc: "2.0", method: "notifications/tools/list_changed" }),
    );
  }

  send(message: Message): void {
    const { id } = message;
    if (kindOf(message) === "request" && typeof id === "number") void this.#answer(id, message);
  }

  cancel(id: number): void {
    this.#pending.get(id)?.abort(new Error("the call was cancelled"));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#unsubscribe?.();
    for (const controller of this.#pending.values()) controller.abort(new Error("the session is over"));
    this.#events.closed({ text: `${this.#server.name} was closed`, delivered: true });
  }

  async #answer(id: number, message: Message): Promise<void> {
    const controller = new AbortController();
    this.#pending.set(id, controller);
    const response = await this.#respond(message, controller.signal).catch((error: unknown) => ({
      error: { code: RPC.internal, message: errorMessage(error) },
    }));
    this.#pending.delete(id);
    if (!this.#isClosed) this.#events.message({ jsonrpc: "2.0", id, ...response });
  }

  async #respond(message: Message, signal: AbortSignal): Promise<Message> {
    const params = objectIn(message, "params") ?? {};
    switch (message.method) {
      case "initialize":
        return {
          result: {
            protocolVersion: typeof params.protocolVersion === "string" ? params.protocolVersion : VERSION,
            capabilities: { tools: this.#server.subscribe ? { listChanged: true } : {} },
            serverInfo: { name: this.#server.name, version: "0.1.0" },
          },
        };
      case "ping":
        return { result: {} };
      case "tools/list":
        return { result: { tools: await this.#server.tools(signal) } };
      case "tools/call":
        return { result: await this.#call(params, signal) };
      default:
        return {
          error: { code: RPC.methodNotFound, message: `"${String(message.method)}" is not known here` },
        };
    }
  }

  async #call({ name, arguments: given = {} }: Message, signal: AbortSignal): Promise<Message> {
    try {
      const text = await this.#server.call(String(name), given, signal);
      return { content: [{ type: "text", text }] };
    } catch (error) {
      return { content: [{ type: "text", text: errorMessage(error) }], isError: true };
    }
  }
}
