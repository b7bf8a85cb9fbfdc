import { type Clock, systemClock } from "@reins/kit";
import { type Dial, StreamTransport } from "../client/stream-transport.ts";
import { type ClientTransport, DEFAULT_RECONNECT, type ReconnectOptions } from "../client/transport.ts";
import { AhpError } from "../errors.ts";
import type { AuthConfig } from "../protocol/messages.ts";
import { credentialOf } from "./auth.ts";
import { dialStdio, type StdioTarget } from "./stdio.ts";
import { dialUnix } from "./unix.ts";

/** The transport and the address of a harness. */
export type Transport =
  | ({ readonly type: "stdio" } & StdioTarget)
  | { readonly type: "http"; readonly url: string; readonly auth?: AuthConfig; readonly ca?: string | Buffer }
  | {
      readonly type: "websocket";
      readonly url: string;
      readonly auth?: AuthConfig;
      readonly ca?: string | Buffer;
      /** The place of the credential; a header by default. */
      readonly credentialIn?: "header" | "subprotocol" | "query";
    }
  | { readonly type: "unix"; readonly path: string }
  | { readonly type: "grpc"; readonly url: string };

/** How to open a transport. */
export interface OpenOptions {
  /** How long connecting may take. */
  readonly timeoutMs?: number;
  /** How to reconnect; `false` never does. */
  readonly reconnect?: Partial<ReconnectOptions> | false;
  /** The largest message accepted from a harness, in bytes. */
  readonly maxMessageBytes?: number;
  readonly clock?: Clock;
  readonly random?: () => number;
}

const DEFAULT_TIMEOUT_MS = 10_000;
const DEFAULT_MAX_MESSAGE_BYTES = 64 * 1024 * 1024;

/** Opens a transport; loads its libraries lazily. */
export async function openTransport(
  transport: Transport,
  options: OpenOptions = {},
): Promise<ClientTransport> {
  const {
    clock = systemClock,
    timeoutMs = DEFAULT_TIMEOUT_MS,
    maxMessageBytes = DEFAULT_MAX_MESSAGE_BYTES,
  } = options;
  const stream = (dial: Dial) =>
    StreamTransport.open(dial, {
      clock,
      random: options.random ?? Math.random,
      reconnect: options.reconnect === false ? undefined : { ...DEFAULT_RECONNECT, ...options.reconnect },
    });
  switch (transport.type) {
    case "stdio":
      return stream(dialStdio(transport, maxMessageBytes));
    case "unix":
      return stream(dialUnix(transport.path, maxMessageBytes));
    case "websocket": {
      const target = { ...transport, credential: credentialOf(transport.auth) };
      const { dialWebSocket } = await import("./websocket.ts");
      return stream(dialWebSocket(target, maxMessageBytes, timeoutMs, clock));
    }
    case "http": {
      const target = { ...transport, credential: credentialOf(transport.auth) };
      const { HttpTransport } = await import("./http/client.ts");
      return new HttpTransport(target, maxMessageBytes, clock);
    }
    case "grpc":
      throw new AhpError("unsupported", "gRPC transport not yet implemented");
  }
}
