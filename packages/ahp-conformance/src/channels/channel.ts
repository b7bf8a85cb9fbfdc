import type { AuthMethod, TransportName } from "@reins/ahp";

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
  /** The id under which the answer comes. On a stream without it, the first message that no other call waits for. */
  readonly id?: string | number;
}

/**
 * A connection to a harness that can carry any bytes, unlike a client, which sends only valid messages.
 * Nothing here throws because of what the harness does; it becomes part of the reply.
 */
export interface Channel {
  readonly transport: TargetTransport;
  /** How the connection ended; `undefined` while it is open. */
  readonly ended: string | undefined;
  /** Sends one message in the framing of the transport, without waiting for anything. */
  send(message: Outgoing): Promise<void>;
  /** Sends one message and waits for the answer. */
  exchange(message: Outgoing, options: ExchangeOptions): Promise<Reply>;
  /** Takes the messages that no call waited for. */
  unclaimed(): readonly string[];
  /** What came that is no response: stray prints, binary messages. */
  readonly noise: readonly string[];
  /** Sends the beginning of a message, and no more of it. */
  begin(beginning: Buffer): Promise<void>;
  /** Drops the connection, as a client does that crashes. */
  vanish(): Promise<void>;
  /** Ends the connection, and the process behind it if the channel started one. */
  close(): Promise<void>;
}

/** The transports a harness can be examined over. */
export type TargetTransport = Exclude<TransportName, "memory">;

/** Where the harness is. */
export type Target =
  | {
      readonly transport: "stdio";
      /** The program to start; there is no shell in between. */
      readonly command: string;
      readonly args?: readonly string[];
      readonly cwd?: string;
      readonly env?: Readonly<Record<string, string | undefined>>;
    }
  | { readonly transport: "http"; readonly url: string }
  | { readonly transport: "websocket"; readonly url: string }
  | { readonly transport: "unix"; readonly path: string };

/** What the kit proves itself with, where the harness asks for it (HTTP and WebSocket). */
export type Credentials = Extract<AuthMethod, { type: "api_key" | "bearer" }>;

/** The target in one line, for people. */
export function describeTarget(target: Target): string {
  switch (target.transport) {
    case "stdio":
      return [target.command, ...(target.args ?? [])].join(" ");
    case "unix":
      return target.path;
    default:
      return withoutSecrets(target.url);
  }
}

/** The header that carries the credentials. */
export function credentialHeaders(credentials: Credentials | undefined): Record<string, string> {
  if (!credentials) return {};
  if (credentials.type === "bearer") return { authorization: `Bearer ${credentials.token}` };
  return { "x-api-key": credentials.key };
}

function withoutSecrets(text: string): string {
  const url = new URL(text);
  url.password &&= "…";
  for (const name of ["token", "api_key"]) if (url.searchParams.has(name)) url.searchParams.set(name, "…");
  return url.href;
}
