import type { Readable, Writable } from "node:stream";
import { LineReader, LineWriter } from "@reins/kit";
import type { Wire, WireEvents } from "../client/stream-transport.ts";
import type { Peer } from "../server/handlers.ts";
import type { AhpServer } from "../server/server.ts";
import { Connection, type ConnectionLimits } from "./connection.ts";

/** A connection over a pair of byte streams. */
export interface LineConnection {
  /** Settles when the peer has disconnected and no request is running. */
  readonly closed: Promise<void>;
  /** Answers running requests, then ends the output. */
  end(): Promise<void>;
  /** Ends at once. */
  destroy(): void;
}

/**
 * Serves one peer that sends a JSON document per line and gets the replies the same way. `keepOutput` leaves
 * the output open at the end, for streams that belong to the process.
 */
export function serveLines(
  server: AhpServer,
  peer: Peer,
  bounds: ConnectionLimits,
  streams: { readonly input: Readable; readonly output: Writable; readonly keepOutput?: boolean },
): LineConnection {
  const { input, output } = streams;
  const writer = new LineWriter(output, () => connection.drained());
  const closed = Promise.withResolvers<void>();
  let finished: Promise<void> | undefined;
  const connection = new Connection(
    server,
    {
      send: (text) => void writer.write(text),
      get buffered() {
        return writer.buffered;
      },
      pause: () => input.pause(),
      resume: () => input.resume(),
      close() {
        finished = writer.finish(streams.keepOutput);
      },
      destroy,
    },
    peer,
    bounds,
  );
  const reader = new LineReader(
    { line: (text) => connection.receive(text), refused: (fault) => connection.refuse(fault) },
    bounds.limits.maxMessageBytes,
  );

  function destroy(): void {
    connection.lost();
    input.destroy();
    output.destroy();
    closed.resolve();
  }

  async function end(): Promise<void> {
    await connection.end();
    await finished;
    closed.resolve();
  }

  input.on("data", (chunk: Buffer) => reader.push(chunk));
  input.on("end", () => {
    reader.end();
    void end();
  });
  input.on("error", destroy);
  input.on("close", () => {
    if (!input.readableEnded) destroy();
  });
  output.on("error", destroy);
  return { closed: closed.promise, end, destroy };
}

/** The client's end of a pair of byte streams: a JSON document per line, both ways. */
export function lineWire(
  streams: { readonly input: Readable; readonly output: Writable },
  events: WireEvents,
  maxMessageBytes: number,
): Omit<Wire, "close"> & { finish(): Promise<void> } {
  const { input, output } = streams;
  const writer = new LineWriter(output);
  const reader = new LineReader({ line: events.message, refused: () => {} }, maxMessageBytes);
  input.on("data", (chunk: Buffer) => reader.push(chunk));
  input.on("end", () => {
    reader.end();
    events.closed();
  });
  input.on("error", events.closed);
  output.on("error", events.closed);
  return {
    send: (text) => void writer.write(text),
    get buffered() {
      return writer.buffered;
    },
    finish: () => writer.finish(),
  };
}
