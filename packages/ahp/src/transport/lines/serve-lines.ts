import type { Readable, Writable } from "node:stream";
import type { Peer } from "../../server/peer.ts";
import type { AhpServer } from "../../server/server.ts";
import { Connection, type ConnectionLimits } from "../connection.ts";
import { LineWriter } from "./line-writer.ts";
import { LineSplitter } from "./splitter.ts";

/** A connection over a pair of byte streams. */
export interface LineConnection {
  /** Settles when the peer is gone and nothing is under way. */
  readonly closed: Promise<void>;
  /** Answers what is under way, then ends the output. */
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
  const writer = new LineWriter(output);
  const closed = Promise.withResolvers<void>();
  let finished: Promise<void> | undefined;
  const connection = new Connection(
    server,
    {
      send: (text) => writer.write(text),
      get buffered() {
        return writer.buffered;
      },
      pause: () => input.pause(),
      resume: () => input.resume(),
      close() {
        finished = writer.finish(streams.keepOutput ?? false);
      },
      destroy,
    },
    peer,
    bounds,
  );
  const splitter = new LineSplitter(
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

  input.on("data", (chunk: Buffer) => splitter.push(chunk));
  input.on("end", () => {
    splitter.end();
    void end();
  });
  input.on("error", destroy);
  input.on("close", () => {
    if (!input.readableEnded) destroy();
  });
  output.on("drain", () => connection.drained());
  output.on("error", destroy);
  return { closed: closed.promise, end, destroy };
}
