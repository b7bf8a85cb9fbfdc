import type { Socket } from "node:net";
import type { Random } from "../../../../scripts/torture/random.ts";

/** Ends a connection in one of the ways in which peers do: in order, without a word, or with a reset. */
export function leave(socket: Socket, random: Random): void {
  switch (random.int(8)) {
    case 0:
      socket.destroy();
      break;
    case 1:
      socket.resetAndDestroy();
      break;
    case 2:
      setImmediate(() => socket.resetAndDestroy());
      break;
    default:
      socket.end();
  }
}
