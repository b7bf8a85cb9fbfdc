import { type Message, objectIn } from "../wire/message.ts";

/** How the agent introduced itself, so that a server that was started again can be told. */
export class Handshake {
  #said: Message | undefined;
  #version: unknown;

  /** Whether there is anything to repeat. Since 2026 there is not: each request brings its own introduction. */
  get isDone(): boolean {
    return this.#said !== undefined;
  }

  /** Takes the agent's `initialize` and what came of it. */
  note(request: Message, response: Message): void {
    const result = objectIn(response, "result");
    if (!result) return;
    this.#said = request;
    this.#version = result.protocolVersion;
  }

  /** The introduction once more. */
  request(): Message {
    return { ...this.#said };
  }

  /** Why a server that came back cannot take the place of the one before, if so. */
  fault(response: Message): string | undefined {
    const version = objectIn(response, "result")?.protocolVersion;
    if (version === this.#version) return undefined;
    return version === undefined
      ? "did not take the agent's introduction"
      : "came back with another protocol version";
  }
}
