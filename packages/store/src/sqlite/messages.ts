import type { StoreErrorCode } from "../store-error.ts";
import type { Change } from "../tables.ts";

/** One commit on its way to the writer. */
export interface Write {
  readonly changes: readonly Omit<Change<unknown>, "result">[];
  readonly durable: boolean;
}

/** An error as it crosses threads. */
export interface Fault {
  readonly code: StoreErrorCode;
  readonly message: string;
}

/** What became of one commit or query. */
export type Outcome<Results = unknown[]> = { readonly results: Results } | { readonly error: Fault };

/** What the main thread asks of a thread of the store. */
export type Request =
  | { readonly kind: "apply"; readonly id: number; readonly writes: readonly Write[] }
  | {
      readonly kind: "query";
      readonly id: number;
      readonly tables: string;
      readonly name: string;
      readonly args: unknown;
    }
  | { readonly kind: "backup"; readonly id: number; readonly path: string }
  | { readonly kind: "close"; readonly id: number };

/** What a thread answers. */
export type Reply =
  | { readonly kind: "ready" }
  | { readonly kind: "failed"; readonly error: Fault }
  | { readonly kind: "applied"; readonly id: number; readonly outcomes: readonly Outcome[] }
  | { readonly kind: "answered"; readonly id: number; readonly outcome: Outcome<unknown> };

/** What a thread is started with. */
export interface ThreadData {
  readonly path: string;
  readonly role: "writer" | "reader";
  readonly tables: readonly { readonly name: string; readonly module: string; readonly settings?: unknown }[];
  /** Address of a module whose default export wraps the database; for tests that break it. */
  readonly wrap?: string | undefined;
}
