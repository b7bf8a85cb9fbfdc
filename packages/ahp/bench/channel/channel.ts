import type { ChildProcess } from "node:child_process";

/** The transports that are measured. */
export const TRANSPORTS = ["stdio", "unix", "websocket", "http"] as const;
export type MeasuredTransport = (typeof TRANSPORTS)[number];

/** Where a server under measurement is: its process, and its address if it has one. */
export interface Place {
  readonly child: ChildProcess;
  readonly address: string;
}

/** The barest client: sends one and the same message and counts what comes back. */
export interface Channel {
  /** Sends the message once more. */
  send(): void;
  /** Sets the callback for replies and how many came together. */
  onReplies(told: (count: number) => void): void;
  /** The first reply, to see that it is what it should be. */
  readonly firstReply: Promise<string>;
  /** Rejects when the server ends the connection, on which nothing would come back any more. */
  readonly lost: Promise<never>;
  close(): void;
}
