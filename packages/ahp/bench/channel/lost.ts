import type { EventEmitter } from "node:events";

/** Rejects when a connection closes; the rejection may stay unhandled. */
export function lostWhenClosed(connections: readonly EventEmitter[]): Promise<never> {
  const { promise, reject } = Promise.withResolvers<never>();
  const lost = () => reject(new Error("the server closed the connection"));
  for (const connection of connections) connection.once("close", lost);
  promise.catch(() => {});
  return promise;
}
