import { once } from "node:events";
import { connect } from "node:net";
import type { Channel, MeasuredTransport, Place } from "./channel.ts";
import { httpChannel } from "./http.ts";
import { lineChannel } from "./lines.ts";
import { webSocketChannel } from "./websocket.ts";

/** Opens a channel to a server; `connections` counts for HTTP only, whose connections answer in order. */
export async function openChannel(
  transport: MeasuredTransport,
  { child, address }: Place,
  message: string,
  connections: number,
): Promise<Channel> {
  switch (transport) {
    case "stdio": {
      if (!child.stdin || !child.stdout) throw new Error("the server has no pipes");
      return lineChannel(child.stdout, child.stdin, message);
    }
    case "unix": {
      const socket = connect(address);
      await once(socket, "connect");
      return lineChannel(socket, socket, message);
    }
    case "websocket":
      return webSocketChannel(address, message);
    case "http":
      return httpChannel(address, message, connections);
  }
}
