import { AhpError } from "../errors/ahp-error.ts";
import type { ParsedJson } from "../json/parse.ts";
import type { AhpEvent } from "../protocol/event.ts";
import type { Method } from "../protocol/methods.ts";
import type { ClientSettings } from "./options.ts";
import { type Operation, resultOf } from "./response.ts";
import type { CallOptions, ClientTransport, SendRequest } from "./transport.ts";

/** How long one call may take, and what ends it early. */
export type CallLimits = Partial<CallOptions>;

/** A result that was checked as far as its envelope goes. */
export type Result = Pick<ParsedJson, "value" | "floats">;

/** Makes the calls of a client: envelopes out, checked results in. */
export class Calls {
  readonly #transport: ClientTransport;
  readonly #settings: ClientSettings;

  constructor(transport: ClientTransport, settings: ClientSettings) {
    this.#transport = transport;
    this.#settings = settings;
  }

  /** Sends a request and checks the response; `params` is JSON already. */
  async call(
    operation: Operation,
    method: Method,
    params: string,
    limits: CallLimits = {},
    send: SendRequest = this.#transport.request,
  ): Promise<Result> {
    const id = this.#settings.newId();
    const text = `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"${method}","params":${params}}`;
    const answer = await send(id, text, this.#options(limits));
    return { value: resultOf(operation, id, answer), floats: answer.floats };
  }

  /** Sends a notification. */
  notify(method: Method, params: string, limits: CallLimits = {}): Promise<void> {
    return this.#transport.notify(
      `{"jsonrpc":"2.0","method":"${method}","params":${params}}`,
      this.#options(limits),
    );
  }

  /** Asks for a decision; when none comes, gives the closed one, or throws if that is what the client wants. */
  async decide<Answer>(
    events: readonly AhpEvent[],
    ask: () => Promise<Answer>,
    closed: (reason: string) => Answer,
  ): Promise<Answer> {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof AhpError) || this.#settings.onFailure === "throw") throw error;
      this.#settings.onFailClosed(error, events);
      return closed(error.message);
    }
  }

  #options({ timeoutMs = this.#settings.timeoutMs, signal }: CallLimits): CallOptions {
    return { timeoutMs, signal };
  }
}
