import type { Readable, Writable } from "node:stream";
import type { Channel } from "./channel.ts";
import { lostWhenClosed } from "./lost.ts";

const NEWLINE = 0x0a;

/** A line per message over a pair of byte streams. */
export function lineChannel(input: Readable, output: Writable, message: string): Channel {
  const line = Buffer.from(`${message}\n`);
  const first = Promise.withResolvers<string>();
  let told = (_: number): void => {};
  let start = "";
  input.on("data", (chunk: Buffer) => {
    if (!start.includes("\n")) {
      start += chunk.toString();
      if (start.includes("\n")) first.resolve(start.slice(0, start.indexOf("\n")));
    }
    let count = 0;
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) count += 1;
    if (count > 0) told(count);
  });
  return {
    send: () => void output.write(line),
    onReplies: (listener) => {
      told = listener;
    },
    firstReply: first.promise,
    lost: lostWhenClosed([input]),
    close: () => output.end(),
  };
}
