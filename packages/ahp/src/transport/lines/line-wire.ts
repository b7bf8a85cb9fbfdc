import type { Readable, Writable } from "node:stream";
import type { Wire, WireEvents } from "../../client/stream-transport.ts";
import { LineWriter } from "./line-writer.ts";
import { LineSplitter } from "./splitter.ts";

/** The client's end of a pair of byte streams: a JSON document per line, both ways. */
export function lineWire(
  streams: { readonly input: Readable; readonly output: Writable },
  events: WireEvents,
  maxMessageBytes: number,
): Omit<Wire, "close"> & { finish(): Promise<void> } {
  const { input, output } = streams;
  const writer = new LineWriter(output);
  const splitter = new LineSplitter({ line: events.message, refused: () => {} }, maxMessageBytes);
  input.on("data", (chunk: Buffer) => splitter.push(chunk));
  input.on("end", () => {
    splitter.end();
    events.closed();
  });
  input.on("error", events.closed);
  output.on("error", events.closed);
  return {
    send: (text) => writer.write(text),
    get buffered() {
      return writer.buffered;
    },
    finish: () => writer.finish(false),
  };
}
