import type { Message } from "../wire/message.ts";

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
export type Answer = { readonly response: Message } | { readonly loss: Loss };

/** What a link has to tell. */
export interface ServerEvents {
  message(message: Message): void;
  /** A line, body or event that was thrown away; with the id of what it answered, where that could be seen. */
  skipped(fault: "malformed" | "too_large", id?: unknown): void;
  /** One request that will not be answered; the link lives on. */
  lost(id: number, loss: Loss): void;
  /** The link is gone, and with it everything under way. Told once, also after it was closed. */
  closed(loss: Loss): void;
}

/** More about a message that is sent. */
export interface Sending {
  /** HTTP headers that repeat arguments of the call, where its schema asks for that. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** A way to an MCP server, opened once and used until it is gone. */
export interface ServerLink {
  /** Sends one message. What becomes of it is told by event. Throws when it cannot be written as JSON. */
  send(message: Message, sending?: Sending): void;
  /** Tells the server that nobody waits for a request any more. */
  cancel(id: number, notification: Message): void;
  /** Ends it, and settles when the server is gone or was left. */
  close(): Promise<void>;
}

/** Opens a way to the server; rejects with an error when there is none, or the signal aborts before it is found. */
export type OpenLink = (events: ServerEvents, signal: AbortSignal) => Promise<ServerLink>;
