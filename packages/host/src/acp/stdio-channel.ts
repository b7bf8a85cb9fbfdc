import type { Readable, Writable } from "node:stream";
import { MessageReader } from "../process/message-reader.ts";
import { MessageWriter } from "../process/message-writer.ts";
import type { Channel } from "./channel.ts";

const MAX_LINE_BYTES = 32 << 20;

/** A channel over two streams, a message per line. It is closed when the input ends. */
export function stdioChannel(
  input: Readable,
  output: Writable,
  onFault: (reason: string) => void = () => undefined,
): Channel {
  const writer = new MessageWriter(output, MAX_LINE_BYTES);
  return {
    send: (message) => writer.send(message),
    onMessage: (listener) => {
      new MessageReader(input, MAX_LINE_BYTES, {
        message: listener,
        fault: ({ kind, excerpt }) => onFault(`${kind}: ${excerpt}`),
      });
    },
    // Also after an error, which is one more way to go.
    closed: new Promise((resolve) => input.once("close", () => resolve(new Error("the client has gone")))),
  };
}
