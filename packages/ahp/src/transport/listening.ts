import type { Server } from "node:net";
import { errorMessage } from "@reins/kit";
import { AhpError } from "../errors.ts";

/** Starts listening and waits until it does; what goes wrong names the place. */
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
  /** Where: `http://127.0.0.1:18789/ahp`, a socket's path, `stdio`. */
  readonly address: string;
  /** Settles when it has stopped, by {@link close} or because its input ended. */
  readonly closed: Promise<void>;
  /** Takes nothing new, lets what is under way finish for a while, then ends. May be called twice. */
  close(): Promise<void>;
}
