import { once } from "node:events";
import { WebSocket } from "ws";
import type { Channel } from "./channel.ts";
import { lostWhenClosed } from "./lost.ts";

/** A text frame per message. */
export async function webSocketChannel(address: string, message: string): Promise<Channel> {
  const webSocket = new WebSocket(address.replace(/^http/, "ws"), { perMessageDeflate: false });
  await once(webSocket, "open");
  const first = Promise.withResolvers<string>();
  let told = (_: number): void => {};
  webSocket.once("message", (data: Buffer) => first.resolve(data.toString()));
  webSocket.on("message", () => told(1));
  return {
    send: () => webSocket.send(message),
    onReplies: (listener) => {
      told = listener;
    },
    firstReply: first.promise,
    lost: lostWhenClosed([webSocket]),
    close: () => webSocket.terminate(),
  };
}
