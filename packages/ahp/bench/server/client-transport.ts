import { fileURLToPath } from "node:url";
import type { Transport } from "../../src/index.ts";
import type { MeasuredTransport } from "../channel/channel.ts";

/** How our client reaches our server; over stdio it starts one of its own. */
export function clientTransport(transport: MeasuredTransport, address: string): Transport {
  switch (transport) {
    case "stdio":
      return {
        type: "stdio",
        program: process.execPath,
        args: [fileURLToPath(new URL("ahp.ts", import.meta.url)), "stdio"],
      };
    case "unix":
      return { type: "unix", path: address };
    case "websocket":
      return { type: "websocket", url: address.replace(/^http/, "ws") };
    case "http":
      return { type: "http", url: address };
  }
}
