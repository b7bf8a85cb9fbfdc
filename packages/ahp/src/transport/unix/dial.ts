import { once } from "node:events";
import { connect } from "node:net";
import { errorMessage } from "@reins/kit";
import type { Dial } from "../../client/stream-transport.ts";
import { AhpError } from "../../errors/ahp-error.ts";
import { lineWire } from "../lines/line-wire.ts";

/** Connects to a Unix socket. */
export function dialUnix(path: string, maxMessageBytes: number): Dial {
  return async (events) => {
    const socket = connect(path);
    try {
      await once(socket, "connect");
    } catch (error) {
      throw new AhpError("transport", `Failed to connect to ${path}: ${errorMessage(error)}`, {
        cause: error,
      });
    }
    const wire = lineWire({ input: socket, output: socket }, events, maxMessageBytes);
    socket.once("close", () => events.closed());
    return {
      send: wire.send,
      get buffered() {
        return wire.buffered;
      },
      close: async () => {
        await wire.finish();
        socket.destroy();
      },
    };
  };
}
