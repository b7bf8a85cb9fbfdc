import type { Log } from "../log/logger.ts";
import type { Entrance, Opened } from "./opened.ts";

const NAMES: Readonly<Record<Entrance["transport"], string>> = {
  http: "over HTTP at",
  websocket: "over WebSocket at",
  unix: "on the socket",
  stdio: "on",
  memory: "in",
};

/** Says what listens where, one line for each way in. */
export function announce(opened: readonly Opened[], log: Log): void {
  for (const { transport, address } of opened.flatMap(({ entrances }) => entrances)) {
    log.info({ transport, address }, `listening: AHP ${NAMES[transport]} ${address}`);
  }
}
