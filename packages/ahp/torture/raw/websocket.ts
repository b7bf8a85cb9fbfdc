import { once } from "node:events";
import { type ClientOptions, WebSocket } from "ws";
import { Inbox } from "./inbox.ts";
import type { RawStream } from "./stream.ts";

/** Frames out, messages in. */
export interface RawWebSocket extends RawStream {
  readonly webSocket: WebSocket;
  /** The code with which it was closed; 1006 when without one. */
  readonly closeCode: Promise<number>;
}

/** Connects; rejects when the other side does not want it. */
export async function rawWebSocket(url: string, options: ClientOptions = {}): Promise<RawWebSocket> {
  const webSocket = new WebSocket(url, { perMessageDeflate: false, ...options });
  const { promise: closeCode, resolve } = Promise.withResolvers<number>();
  webSocket.once("close", resolve);
  await once(webSocket, "open");
  webSocket.on("error", () => {});
  const inbox = new Inbox();
  webSocket.on("message", (data: Buffer) => inbox.add(data.toString()));
  return {
    webSocket,
    inbox,
    closeCode,
    closed: closeCode.then(() => {}),
    destroy: () => webSocket.terminate(),
  };
}
