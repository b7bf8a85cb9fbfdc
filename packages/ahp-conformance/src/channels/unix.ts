import { once } from "node:events";
import { connect } from "node:net";
import { AhpError } from "@reins/ahp";
import { errorMessage } from "@reins/kit";
import type { Target } from "../target.ts";
import { LineChannel } from "./line-channel.ts";

/** Connects to a harness that listens on a Unix socket. */
export async function openUnix({
  path,
}: Extract<Target, { transport: "unix" }>): Promise<LineChannel<"unix">> {
  const socket = connect({ path, allowHalfOpen: true });
  try {
    await once(socket, "connect");
  } catch (error) {
    throw new AhpError("transport", `Failed to connect to ${path}: ${errorMessage(error)}`, { cause: error });
  }
  let fault: Error | undefined;
  socket.on("error", (error) => {
    fault = error;
  });
  socket.once("end", () => socket.end());
  const over = new Promise<string>((resolve) => {
    socket.once("close", () => {
      resolve(fault ? `the connection broke: ${fault.message}` : "the harness closed the connection");
    });
  });
  return new LineChannel("unix", {
    writable: socket,
    readable: socket,
    over,
    destroy: () => socket.destroy(),
    async close() {
      socket.destroy();
      await over;
    },
  });
}
