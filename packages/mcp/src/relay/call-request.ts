import { isDeepStrictEqual } from "node:util";
import { errorMessage } from "@reins/kit";
import { toNearlyPlain, toPlain } from "../wire/exact-json.ts";
import { type Message, objectIn } from "../wire/message.ts";
import { isModern } from "../wire/revision.ts";

/** A `tools/call` as the agent sent it. */
export class CallRequest {
  readonly tool: string;
  /** As the gate gets to see them; an empty object when there are none. */
  readonly arguments: unknown;
  /** Why nobody can decide about it, if so. */
  readonly undecidable: string | undefined;
  readonly #message: Message;
  readonly #params: Message;

  private constructor(message: Message, params: Message, tool: string) {
    this.#message = message;
    this.#params = params;
    this.tool = tool;
    const given = params.arguments ?? {};
    try {
      this.arguments = toPlain(given);
    } catch (error) {
      this.arguments = toNearlyPlain(given);
      this.undecidable = errorMessage(error);
    }
  }

  /** Reads one; gives what is wrong with it where it is none. */
  static read(message: Message): CallRequest | { readonly fault: string } {
    const params = objectIn(message, "params");
    const tool = params?.name;
    if (!params || typeof tool !== "string") return { fault: "tools/call needs the name of a tool" };
    if (params.arguments !== undefined && !objectIn(params, "arguments")) {
      return { fault: "the arguments of tools/call are an object" };
    }
    return new CallRequest(message, params, tool);
  }

  /** Whether it takes up an earlier call that asked for more input. */
  get continues(): boolean {
    return this.#params.inputResponses !== undefined || this.#params.requestState !== undefined;
  }

  /** Whether the agent speaks a revision in which each request stands for itself. */
  get isModern(): boolean {
    return isModern(this.#message);
  }

  /** What the agent says of itself in the request. */
  get meta(): Message | undefined {
    return objectIn(this.#params, "_meta");
  }

  /** The message with the arguments that were decided on; the very same where they are the agent's. */
  withArguments(decided: unknown): Message {
    if (isDeepStrictEqual(decided, this.arguments)) return this.#message;
    return { ...this.#message, params: { ...this.#params, arguments: decided } };
  }
}
