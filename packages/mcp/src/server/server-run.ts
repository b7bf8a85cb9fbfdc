import { errorMessage } from "@reins/kit";
import type { ServerContext } from "../gate.ts";
import { errorIn, kindOf, type Message, RPC } from "../message.ts";

/** Why something that was asked will not be answered. */
export interface Loss {
  /** For a person, and for the model; without credentials. */
  readonly text: string;
  /** False where it certainly never reached the server. */
  readonly delivered: boolean;
  /** Whether the server forgot the session, so that asking again over a new one is safe. */
  readonly forgotten?: boolean;
  /** How a process ended. */
  readonly data?: {
    readonly exitCode: number | null;
    readonly signal: string | null;
    readonly stderr: string;
  };
}

/** What came of a request: the server's response as it is, or why there is none. */
export type ServerAnswer = { readonly response: Message } | { readonly loss: Loss };

/** Events of a link. */
export interface ServerEvents {
  message(message: Message): void;
  /** A line, body or event that was thrown away; with the id of what it answered, where that could be seen. */
  skipped(fault: "malformed" | "too_large", id?: unknown): void;
  /** One request that will not be answered; the link lives on. */
  lost(id: number, loss: Loss): void;
  /** The link is gone, and with it everything under way. Emitted once, also after it was closed. */
  closed(loss: Loss): void;
}

/** More about a message that is sent. */
export interface Sending {
  /** HTTP headers that repeat arguments of the call, where its schema asks for that. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A way to an MCP server, opened once and used until it is gone. */
export interface ServerLink {
  /** Sends one message; events report its outcome. Throws when it cannot be written as JSON. */
  send(message: Message, sending?: Sending): void;
  /** Cancels a request on the server. */
  cancel(id: number, notification: Message): void;
  /** Ends it, and settles when the server is gone or was left. */
  close(): Promise<void>;
}

/** Opens a way to the server; rejects with an error when there is none, or the signal aborts before it is found. */
export type OpenLink = (events: ServerEvents, signal: AbortSignal) => Promise<ServerLink>;

type ServerRunParts = Pick<ServerContext, "name" | "limits" | "clock" | "faults">;

/** What a running server says of its own accord. */
export interface UnsolicitedEvents {
  request(message: Message, respond: (response: Message) => void): void;
  notification(message: Message): void;
}

/** Events of a {@link ServerRun}. */
interface ServerRunEvents extends UnsolicitedEvents {
  /** Nothing can be asked any more. */
  over(): void;
  /** Nothing is left of it. */
  gone(): void;
}

/** One run of a server, from its start to its end, with its pending requests. */
export class ServerRun {
  readonly #parts: ServerRunParts;
  readonly #events: ServerRunEvents;
  readonly #waiting = new Map<number, (answer: ServerAnswer) => void>();
  #link: ServerLink | undefined;
  #hasSent = false;
  #isOver = false;
  #isUnwanted = false;
  #cancelTimer: (() => void) | undefined;

  constructor(parts: ServerRunParts, events: ServerRunEvents) {
    this.#parts = parts;
    this.#events = events;
  }

  /** Starts it; rejects when that fails. */
  async begin(open: OpenLink, signal: AbortSignal): Promise<void> {
    const events: ServerEvents = {
      message: (message) => this.#receive(message),
      skipped: (fault, id) => this.#skip(fault, id),
      lost: (id, loss) => {
        this.#noteActivity();
        this.#settle(id, { loss });
      },
      closed: (loss) => {
        this.#die(loss);
        this.#events.gone();
      },
    };
    this.#link = await open(events, signal);
  }

  /** Asks; settles with the response or with why there is none. */
  ask(message: Message & { readonly id: number }, sending: Sending | undefined): Promise<ServerAnswer> {
    const { promise, resolve } = Promise.withResolvers<ServerAnswer>();
    if (this.#isOver) return Promise.resolve({ loss: { text: this.#gone(), delivered: false } });
    this.#waiting.set(message.id, resolve);
    try {
      this.#link?.send(message, sending);
      this.#expectMessage();
    } catch (error) {
      this.#settle(message.id, {
        loss: { text: `it cannot be written as JSON: ${errorMessage(error)}`, delivered: false },
      });
    }
    return promise;
  }

  /** Sends a message without a response. */
  send(message: Message): void {
    if (!this.#isOver) this.#link?.send(message);
  }

  /** Passes a cancellation on, if the request is still open. */
  cancel(id: number, notification: Message): void {
    if (this.#waiting.has(id)) this.#link?.cancel(id, notification);
  }

  /** Ends it on request. */
  async close(): Promise<void> {
    this.#isUnwanted = true;
    await this.#link?.close();
  }

  #receive(message: Message): void {
    if (this.#isOver) return;
    this.#noteActivity();
    switch (kindOf(message)) {
      case "request":
        this.#events.request(message, (response) => this.send({ ...response, id: message.id }));
        break;
      case "notification":
        this.#events.notification(message);
        break;
      case "response":
        this.#settle(numberOf(message.id), { response: complete(message) });
        break;
      case "invalid":
        this.#parts.faults.note("malformed", "neither a request nor a response");
    }
  }

  #noteActivity(): void {
    this.#hasSent = true;
    this.#cancelTimer?.();
  }

  #settle(id: number | undefined, answer: ServerAnswer): void {
    const resolve = id === undefined ? undefined : this.#waiting.get(id);
    if (id === undefined || !resolve) {
      this.#parts.faults.note("unmatched", "an answer to nothing that was asked");
      return;
    }
    this.#waiting.delete(id);
    resolve(answer);
  }

  /** A discarded message may have been the response to a pending request. */
  #skip(fault: "malformed" | "too_large", id: unknown): void {
    const { faults, limits } = this.#parts;
    const text = `a message of more than ${limits.messageBytes} bytes`;
    faults.note(fault, fault === "too_large" ? text : "no JSON");
    if (fault === "malformed" || this.#waiting.size === 0) return;
    const answered = numberOf(id);
    if (answered !== undefined && this.#waiting.has(answered)) {
      this.#settle(answered, { loss: { text: `the server answered with ${text}`, delivered: true } });
      return;
    }
    this.#abandon(`the MCP server ${this.#parts.name} sent ${text}, and it is unknown what it answers`);
  }

  /** Ends a server that sends nothing within a time of its first request. */
  #expectMessage(): void {
    const { name, limits, clock } = this.#parts;
    if (this.#hasSent || this.#cancelTimer) return;
    this.#cancelTimer = clock.after(limits.startMs, () =>
      this.#abandon(`the MCP server ${name} did not answer within ${limits.startMs} ms of its start`),
    );
  }

  #abandon(text: string): void {
    this.#die({ text, delivered: true });
    this.#link?.close().catch((error) => this.#parts.faults.note("server_lost", errorMessage(error), error));
  }

  #die(loss: Loss): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelTimer?.();
    if (!this.#isUnwanted) this.#parts.faults.note("server_lost", loss.text);
    this.#events.over();
    for (const resolve of this.#waiting.values()) resolve({ loss });
    this.#waiting.clear();
  }

  #gone(): string {
    return `the MCP server ${this.#parts.name} is gone`;
  }
}

/** Turns a response with neither a result nor an error into an error. */
function complete(response: Message): Message {
  if (Object.hasOwn(response, "result") || errorIn(response)) return response;
  const message = "the server answered with neither a result nor an error";
  return { ...response, error: { code: RPC.internal, message } };
}

/** Ids of ours are whole numbers; some servers give them back with a decimal point. */
function numberOf(id: unknown): number | undefined {
  if (JSON.isRawJSON(id)) return Number(id.rawJSON);
  return typeof id === "number" ? id : undefined;
}
