import { type ContentBlock, RequestError } from "@agentclientprotocol/sdk";
import { CODE, membersOf, readResult, usageIn } from "@reins/acp";
import type { AcpConnection } from "./acp-connection.ts";
import { EventQueue } from "./event-queue.ts";
import type { Abortable } from "./http.ts";
import type { ConversationEvent } from "./session-events.ts";

/** The end of a turn. */
interface TurnEnd {
  readonly type: "end";
  /** `end_turn`, `max_tokens`, `max_turn_requests`, `refusal` or `cancelled`. */
  readonly stopReason: string;
  /** Tokens, as the agent reported them. */
  readonly usage: Readonly<Record<string, number>>;
}

/** What happens in a turn; its end comes last. */
export type PromptEvent = ConversationEvent | TurnEnd;

/** How a turn ended, and all that the agent said. */
export interface TurnResult extends Omit<TurnEnd, "type"> {
  readonly text: string;
}

/** A prompt as text, or as blocks of ACP. */
export type PromptContent = string | readonly ContentBlock[];

/** What a turn needs of its session. */
interface TurnSession {
  readonly id: string;
  /** The connection that follows the session. */
  attached(options: Abortable): Promise<AcpConnection>;
}

/**
 * A prompt and what comes of it. It is sent when its events are first asked for, and waits for earlier turns of the
 * session. Leaving the loop early cancels it. Rejects with {@link InterruptedError} if Reins or the agent ended.
 */
export class Turn implements AsyncIterable<PromptEvent> {
  /** Names the prompt: the event `prompt` that begins the turn has it. */
  readonly id: string = randomId();
  readonly #session: TurnSession;
  readonly #prompt: PromptContent;
  readonly #signal: AbortSignal | undefined;
  /** Whether it is for the turn under way. */
  readonly #steer: boolean | undefined;
  readonly #cancel = new AbortController();
  #isStarted = false;

  constructor(session: TurnSession, prompt: PromptContent, { signal }: Abortable, steer?: boolean) {
    this.#steer = steer;
    this.#session = session;
    this.#prompt = prompt;
    this.#signal = signal;
  }

  /** Cancels the turn, or takes the prompt out of the queue. It ends with the stop reason `cancelled`. */
  cancel(): void {
    this.#cancel.abort();
  }

  /** Runs the turn to its end. */
  async result(): Promise<TurnResult> {
    let text = "";
    for await (const event of this) {
      if (event.type === "text") text += event.text;
      else if (event.type === "end") return { stopReason: event.stopReason, usage: event.usage, text };
    }
    throw new Error("The turn has no end.");
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<PromptEvent> {
    if (this.#isStarted) throw new TypeError("The events of a turn can be read once.");
    this.#isStarted = true;
    const { signal } = this.#cancel;
    const cancel = () => this.cancel();
    this.#signal?.throwIfAborted();
    signal.throwIfAborted();
    const aborted = this.#signal ? AbortSignal.any([this.#signal, signal]) : signal;
    const connection = await this.#session.attached({ signal: aborted });
    const queue = new EventQueue<PromptEvent>();
    const unsubscribe = connection.subscribe(this.#session.id, this.#ownEvents(queue));
    this.#signal?.addEventListener("abort", cancel, { once: true });
    if (this.#signal?.aborted) cancel();
    this.#send(connection, signal).then(
      (end) => {
        void queue.push(end);
        queue.end();
      },
      (error: unknown) => queue.end(error),
    );
    try {
      yield* queue;
    } finally {
      unsubscribe();
      this.#signal?.removeEventListener("abort", cancel);
      // Without effect after the end.
      this.#cancel.abort();
    }
  }

  /** Passes on the events between the beginning of this turn and that of another. */
  #ownEvents(queue: EventQueue<PromptEvent>) {
    let isOwn = false;
    return (event: ConversationEvent) => {
      if (event.type === "prompt") isOwn = event.prompt === this.id;
      return isOwn || event.type === "session_ended" ? queue.push(event) : undefined;
    };
  }

  async #send(connection: AcpConnection, signal: AbortSignal): Promise<TurnEnd> {
    const prompt = typeof this.#prompt === "string" ? [{ type: "text", text: this.#prompt }] : this.#prompt;
    const params = {
      sessionId: this.#session.id,
      prompt,
      _meta: { reins: { prompt: this.id, steer: this.#steer } },
    };
    const response = await connection
      .requestToEnd("session/prompt", params, signal)
      .catch((error: unknown) => {
        // A prompt that was cancelled in the queue has no turn that could end.
        if (signal.aborted && error instanceof RequestError && error.code === CODE.cancelled)
          return { stopReason: "cancelled" };
        throw error;
      });
    const { stopReason = "end_turn" } = readResult("session/prompt", membersOf(response));
    return { type: "end", stopReason, usage: usageIn(response) };
  }
}

/** Like `crypto.randomUUID`, which pages over plain HTTP do not have. */
function randomId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) =>
    byte.toString(16).padStart(2, "0"),
  ).join("");
}
