import type { Clock } from "@reins/kit";
import { type Message, objectIn, sameId } from "../message.ts";
import type { Asked } from "../server/upstream.ts";

/** Where what belongs to one request of the agent goes. */
export interface ReplyTo {
  /** Sends its response, or something on the way there. */
  send(message: Message): void;
  /** Nothing more will come. */
  done(): void;
}

/** The agent, as far as it can be reached without having asked. */
export interface AgentLink {
  /** Sends what belongs to no request. Returns false if it cannot be delivered. */
  push(message: Message): boolean;
}

/** One request of the agent, from its arrival to its answer. */
export class AgentRequest {
  readonly message: Message;
  readonly #reply: ReplyTo;
  readonly #unwanted = new AbortController();
  #asked: Asked | undefined;
  #stopProgress: (() => void) | undefined;

  constructor(message: Message, reply: ReplyTo) {
    this.message = message;
    this.#reply = reply;
  }

  /** The agent's id, of whatever type. */
  get id(): unknown {
    return this.message.id;
  }

  /** Aborts when the agent does not wait for the answer any more. */
  get signal(): AbortSignal {
    return this.#unwanted.signal;
  }

  /** Whether the server knows it by that id. */
  isKnownAs(serverId: unknown): boolean {
    return this.#asked?.id === serverId;
  }

  /** Whether the agent subscribes to its progress under that token. */
  hasToken(token: unknown): boolean {
    return this.#token !== undefined && sameId(this.#token, token);
  }

  get #token(): unknown {
    return objectIn(objectIn(this.message, "params"), "_meta")?.progressToken;
  }

  /**
   * Reports progress until it is passed on or answered, so that an agent that takes progress for a sign of life does not
   * stop waiting for a person. The values are so small that those of the server follow them.
   */
  keepAlive(clock: Clock, ms: number): void {
    const progressToken = this.#token;
    if (progressToken === undefined) return;
    let progress = 0;
    const wait = () => {
      this.#stopProgress = clock.after(ms, () => {
        progress += 1e-9;
        const params = { progressToken, progress, message: "waiting for a verdict" };
        this.note({ jsonrpc: "2.0", method: "notifications/progress", params });
        wait();
      });
    };
    wait();
  }

  /** It has been passed on to the server. */
  passedOn(asked: Asked): void {
    this.#stopProgress?.();
    this.#asked = asked;
  }

  /** Cancels it: the agent no longer waits. Forwards the agent's notification to the server. */
  cancel(notification: Message = { jsonrpc: "2.0", method: "notifications/cancelled" }): void {
    if (this.#unwanted.signal.aborted) return;
    this.#stopProgress?.();
    this.#unwanted.abort();
    const params = { ...objectIn(notification, "params"), requestId: this.#asked?.id };
    this.#asked?.cancel({ ...notification, params });
    this.#reply.done();
  }

  /** Sends something on the way to the answer. */
  note(message: Message): void {
    if (!this.signal.aborted) this.#reply.send(message);
  }

  /** Sends the answer, under the agent's id. */
  answer(response: Message): void {
    this.#stopProgress?.();
    if (this.signal.aborted) return;
    this.#reply.send({ ...response, id: this.id });
    this.#reply.done();
  }
}
