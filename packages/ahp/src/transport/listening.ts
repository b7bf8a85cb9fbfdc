import type { Server } from "node:net";
import { errorMessage } from "@reins/kit";
import { AhpError } from "../errors.ts";

/** Starts listening and waits for it; an error names the address. */
export async function listening(listener: Server, place: string, start: () => void): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const fail = (error: Error) =>
    reject(new AhpError("transport", `Cannot listen on ${place}: ${advice(error)}`, { cause: error }));
  listener.once("error", fail);
  listener.once("listening", resolve);
  try {
    start();
    await promise;
  } finally {
    listener.off("error", fail);
    listener.off("listening", resolve);
  }
}

function advice(error: Error): string {
  const code = "code" in error ? error.code : undefined;
  if (code === "EADDRINUSE") return "something else listens there; stop it or choose another";
  if (code === "EACCES") return "permission denied";
  return errorMessage(error);
}

/** A server that listens somewhere. */
export interface Served {
  /** The address: `http://127.0.0.1:18789/ahp`, a socket's path, `stdio`. */
  readonly address: string;
  /** Settles when it has stopped, by {@link close} or because its input ended. */
  readonly closed: Promise<void>;
  /** Stops accepting, waits for running requests up to the drain timeout, then closes. Idempotent. */
  close(): Promise<void>;
}
