import { createWebSocketStream } from "@agentclientprotocol/sdk/experimental/ws-client";
import { AcpClient } from "./acp-client.ts";
import { byFrame } from "./frames.ts";
import { Link } from "./link.ts";

/** A WebSocket as browsers know it: what the SDK gives beside the address would be taken for a subprotocol. */
class PlainWebSocket extends WebSocket {
  constructor(url: string) {
    super(url);
  }
}

/** The client of this page. It opens its line when something is first asked of it. */
export const acpClient = new AcpClient({
  open: async (ear) =>
    Link.open(createWebSocketStream(addressOf(window.location), { WebSocket: PlainWebSocket }), ear),
  schedule: byFrame,
  now: () => Date.now(),
  after: (milliseconds, run) => {
    const timer = setTimeout(run, milliseconds);
    return () => clearTimeout(timer);
  },
  newId: () => crypto.randomUUID(),
  random: Math.random,
});

function addressOf({ protocol, host }: Location): string {
  return `${protocol === "https:" ? "wss" : "ws"}://${host}/acp`;
}
