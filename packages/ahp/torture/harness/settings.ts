import type { Limits } from "../../src/index.ts";

/** What a tortured harness serves, and how much it takes. */
export interface HarnessSettings {
  readonly stdio?: boolean;
  /** The path of its Unix socket. */
  readonly unix?: string;
  /** HTTP and WebSocket, on any port unless one is given; with a token only for who shows it. */
  readonly http?: { readonly port?: number; readonly token?: string };
  readonly limits?: Partial<Limits>;
  readonly requireHandshake?: boolean;
  readonly deadlineMs?: number;
}

/** What a harness tells when it serves. */
export interface Ready {
  readonly kind: "ready";
  /** `http://127.0.0.1:port/ahp`, if it serves that. */
  readonly http?: string;
}

/** How a harness is, after its garbage was collected. */
export interface Report {
  readonly kind: "report";
  readonly rss: number;
  /** What lives on the heap and in buffers. */
  readonly live: number;
  /** Open files and sockets. */
  readonly descriptors: number;
  /** Events that wait to be released. */
  readonly held: number;
}

/** Commands for a harness: report its state, or answer the events that it holds. */
export type Order = "report" | "release";
