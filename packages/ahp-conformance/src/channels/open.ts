import type { Credentials, Target } from "../target.ts";
import { type HttpChannel, openHttp } from "./http.ts";
import type { LineChannel } from "./line-channel.ts";
import { openStdio } from "./stdio.ts";
import { openUnix } from "./unix.ts";
import { openWebSocket, type WebSocketChannel } from "./websocket.ts";

/** A channel of any kind; its `transport` says which. */
export type AnyChannel = LineChannel<"stdio"> | LineChannel<"unix"> | WebSocketChannel | HttpChannel;

/** Opens a new connection to the target. Rejects with an {@link AhpError} when it cannot be reached. */
export function openChannel(target: Target, credentials: Credentials | undefined): Promise<AnyChannel> {
  switch (target.transport) {
    case "stdio":
      return openStdio(target);
    case "unix":
      return openUnix(target);
    case "websocket":
      return openWebSocket(target, credentials);
    case "http":
      return openHttp(target, credentials);
  }
}
