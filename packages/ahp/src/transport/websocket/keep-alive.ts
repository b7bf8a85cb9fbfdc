import type { Clock } from "@reins/kit";
import type { WebSocket } from "ws";

/** Pings a connection at intervals and cuts it off when the last ping went unanswered. One that is not being read is spared. */
export function keepAlive(webSocket: WebSocket, intervalMs: number, clock: Clock): void {
  let alive = true;
  let callOff = clock.after(intervalMs, beat);
  function beat(): void {
    if (!alive && !webSocket.isPaused) {
      webSocket.terminate();
      return;
    }
    alive = false;
    webSocket.ping();
    callOff = clock.after(intervalMs, beat);
  }
  const stillThere = () => {
    alive = true;
  };
  webSocket.on("pong", stillThere);
  webSocket.on("message", stillThere);
  webSocket.once("close", () => callOff());
}
