import type { JsonObject } from "./message.ts";

/** The way to whoever runs the agent: JSON-RPC messages, whole and in order. */
export interface AgentPort {
  /** Sends; settles when there is room for another, and rejects when the other side has gone. */
  send(message: JsonObject): Promise<void>;
  /** Who takes the messages; the next one comes when the promise settles. */
  onMessage(listener: (message: JsonObject) => void | Promise<void>): void;
  /** Settles when the other side has gone, with why. */
  readonly closed?: Promise<Error>;
}
