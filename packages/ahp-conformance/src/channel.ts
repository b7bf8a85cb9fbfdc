import type { TargetTransport } from "./target.ts";

/** A message to send: text, bytes that may be no text at all, or one message that travels in pieces. */
export type Outgoing = string | Buffer | readonly Buffer[];

/** What came back. */
export interface Reply {
  /** The message; absent when none came, and empty for an HTTP answer without a body. */
  readonly text: string | undefined;
  /** Only over HTTP. */
  readonly status?: number;
  /** Only over HTTP; names in lower case. */
  readonly headers?: Readonly<Record<string, string | undefined>>;
  /** How the other side ended the connection, if it did so instead of answering. */
  readonly ended?: string;
}

/** How long to wait, and for what. */
export interface ExchangeOptions {
  readonly waitMs: number;
  /** The id under which the answer comes. On a stream without it, the first message nobody else waits for. */
  readonly id?: string | number;
}

/**
 * A connection to a harness that can carry any bytes whatever, unlike a client, which carries only what is right.
 * Nothing here throws because of what the harness does; it becomes part of the reply.
 */
export interface Channel {
  readonly transport: TargetTransport;
  /** How the connection ended; `undefined` while it stands. */
  readonly ended: string | undefined;
  /** Sends one message in the framing of the transport, without waiting for anything. */
  send(message: Outgoing): Promise<void>;
  /** Sends one message and waits for the answer. */
  exchange(message: Outgoing, options: ExchangeOptions): Promise<Reply>;
  /** Takes the messages that came and that nobody waited for. */
  unclaimed(): readonly string[];
  /** What came that is no response: stray prints, binary messages. */
  readonly noise: readonly string[];
  /** Sends the beginning of a message, and no more of it. */
  begin(beginning: Buffer): Promise<void>;
  /** Ends the connection at once and without a word, as a client does that crashes. */
  vanish(): Promise<void>;
  /** Ends the connection, and the process behind it if the channel started one. */
  close(): Promise<void>;
}
