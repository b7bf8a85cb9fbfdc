import type { ParsedJson } from "@reins/kit";
import type { z } from "zod";
import { AhpError } from "../errors.ts";
import type { AhpEvent } from "../protocol/event.ts";
import { type Method, RpcError } from "../protocol/messages.ts";
import { DecodeError, decode, isObject } from "../wire/decode.ts";
import type { ClientSettings } from "./client.ts";
import type { CallOptions, ClientTransport, SendRequest } from "./transport.ts";

/** Timeout and cancellation of one call. */
export type CallLimits = Partial<CallOptions>;

/** A result whose envelope was checked. */
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

  /** Requests a decision; without one, returns the closed decision, or throws, depending on `onFailure`. */
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

/** The operations a client performs, as its errors name them. */
export type Operation = "Handshake" | "Event" | "Query" | "Batch";

/** The result of a response, or why it has none, checked in the order the protocol's clients share. */
function resultOf(operation: Operation, id: string, { value, floats, duplicateKeys }: ParsedJson): unknown {
  const fail = (text: string, rpc?: RpcError) =>
    new AhpError("protocol", `${operation} failed: ${text}`, rpc ? { rpc } : {});
  if (!isObject(value)) throw fail("the response is not an object");
  if (duplicateKeys) throw fail("the response names a key twice");
  if (value.jsonrpc !== "2.0") throw fail(`invalid JSON-RPC version ${String(value.jsonrpc)}`);
  if (value.id !== id) throw fail(`response id mismatch, expected ${id}, got ${String(value.id)}`);
  if (value.error !== undefined && value.error !== null) {
    const rpc = decodeResult(RpcError, { value: value.error, floats });
    throw fail(rpc.message, rpc);
  }
  if (value.result === undefined || value.result === null) throw fail("missing result");
  return value.result;
}

/** A result as its type, or `Serialization error: …`. */
export function decodeResult<Result>(
  schema: z.ZodType<Result>,
  result: Pick<ParsedJson, "value" | "floats">,
): Result {
  try {
    return decode(schema, result.value, result.floats);
  } catch (error) {
    if (!(error instanceof DecodeError)) throw error;
    throw new AhpError("serialization", error.message, { cause: error });
  }
}
