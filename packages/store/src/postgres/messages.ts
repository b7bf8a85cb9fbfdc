import type { MessagePort } from "node:worker_threads";
import type { PostgresAddress } from "./address.ts";

/** A value of a parameter. */
export type SqlValue = string | number | bigint | null | Uint8Array;

/** One statement. Without values it is sent as a script, which may hold several. */
export interface SqlStep {
  readonly text: string;
  readonly values: readonly SqlValue[] | undefined;
  /** Whether its rows are wanted. */
  readonly rows: boolean;
}

/** A request of a thread of the store to the thread that speaks to PostgreSQL; answered in order. */
export type LinkRequest =
  | { readonly kind: "connect"; readonly settings: readonly string[] }
  | { readonly kind: "run"; readonly steps: readonly SqlStep[] }
  | { readonly kind: "end" };

/** What a statement did. */
export interface StepResult {
  readonly changes: number;
  readonly names: readonly string[];
  readonly rows: readonly (readonly unknown[])[];
}

/** Why a statement or a connection failed. */
export interface LinkError {
  /** The SQLSTATE, or the code of the system; empty where there is none. */
  readonly code: string;
  readonly message: string;
  /** Whether the connection is gone. */
  readonly lost: boolean;
}

export interface LinkReply {
  /** Of the statements before the first that failed. */
  readonly results: readonly StepResult[];
  readonly error?: LinkError;
}

/**
 * The end of a connection in a thread of the store. The thread sleeps on `signal[REPLIES]` until its reply is there;
 * `signal[GONE]` says that there will be none.
 */
export interface LinkEnd {
  readonly port: MessagePort;
  readonly signal: Int32Array;
}

export const [REPLIES, GONE] = [0, 1];

/** What the thread that speaks to PostgreSQL says unasked. */
export interface LinkNotice {
  /** The tables that a process may have changed; `undefined` after a connection was made, before which any may have been. */
  readonly changed: string | undefined;
}

/** What the thread that speaks to PostgreSQL is started with. */
export interface ConnectorData {
  readonly address: PostgresAddress;
  readonly links: readonly LinkEnd[];
  /** How long a connection may take to be made, and a statement to be answered, in milliseconds. */
  readonly connectMs: number;
  readonly answerMs: number;
}
