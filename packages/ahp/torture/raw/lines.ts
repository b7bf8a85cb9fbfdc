import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { Readable, Writable } from "node:stream";
import { pause } from "../bounds.ts";
import { Inbox } from "./inbox.ts";
import type { RawStream } from "./stream.ts";

const AGAIN_MS = 5;

/** Bytes out, lines in. */
export interface RawLines extends RawStream {
  send(bytes: Buffer | string): void;
}

/** Speaks over a pair of byte streams. */
export function rawLines(input: Readable, output: Writable): RawLines {
  const inbox = new Inbox();
  let held = "";
  input.setEncoding("utf8");
  input.on("data", (chunk: string) => {
    const lines = (held + chunk).split("\n");
    held = lines.pop() ?? "";
    for (const line of lines) inbox.add(line);
  });
  const { promise: closed, resolve } = Promise.withResolvers<void>();
  input.once("close", () => resolve());
  // What goes wrong shows in that nothing comes back.
  for (const stream of [input, output]) stream.on("error", () => {});
  return {
    inbox,
    closed,
    send: (bytes) => void output.write(bytes),
    destroy: () => {
      input.destroy();
      output.destroy();
    },
  };
}

/** Connects to a Unix socket; where too many do at once, the system wants them to try again. */
export async function rawUnix(path: string): Promise<RawLines & { readonly socket: Socket }> {
  for (;;) {
    const socket = connect(path);
    try {
      await once(socket, "connect");
      return { ...rawLines(socket, socket), socket };
    } catch (error) {
      if (!isEagain(error)) throw error;
      await pause(AGAIN_MS);
    }
  }
}

function isEagain(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "EAGAIN";
}
