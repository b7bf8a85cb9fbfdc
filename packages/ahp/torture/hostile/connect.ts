import { type RawLines, rawUnix } from "../raw/lines.ts";
import type { RawStream } from "../raw/stream.ts";
import { type RawWebSocket, rawWebSocket } from "../raw/websocket.ts";
import { type HostileContext, TOKEN } from "./context.ts";

/** The header that shows the right token. */
export const AUTHORISED = { authorization: `Bearer ${TOKEN}` };

/** A WebSocket that the server accepts. */
export function authorisedWebSocket({ harness }: HostileContext): Promise<RawWebSocket> {
  return rawWebSocket(harness.webSocket, { headers: AUTHORISED });
}

/** A connection that sends one text after the other. */
export interface TextStream extends RawStream {
  send(text: string): void;
  /** Leaves off reading for good. */
  stopReading(): void;
}

/** A connection over each of the streams that many can open. */
export const STREAMS: Readonly<
  Record<"unix" | "websocket", (context: HostileContext) => Promise<TextStream>>
> = {
  unix: async ({ unix }) => {
    const stream = await rawUnix(unix);
    return { ...stream, send: lines(stream), stopReading: () => stream.socket.pause() };
  },
  websocket: async (context) => {
    const stream = await authorisedWebSocket(context);
    const { webSocket } = stream;
    return { ...stream, send: (text) => webSocket.send(text), stopReading: () => webSocket.pause() };
  },
};

/** Sends each text as a line. */
export function lines(stream: RawLines): (text: string) => void {
  return (text) => stream.send(`${text}\n`);
}
