import { expect, onTestFinished } from "vitest";
import type { Operations, Store, Tables } from "../../src/store.ts";
import type { StoreErrorCode } from "../../src/store-error.ts";

/** Tables of any package. */
export type AnyTables = Tables<Operations, Operations>;

/** A kind of store, as the contract needs it. */
export interface StoreSubject {
  /** Makes room for one database, with nothing in it. */
  place(): Promise<StorePlace>;
  /** Whether the store itself copies the database to a file; one with means of its own refuses by name. */
  readonly copiesToFiles: boolean;
}

/** Where one database is. */
export interface StorePlace {
  /** Opens it; also again, after it was closed. */
  open(tables: readonly AnyTables[], options?: PlaceOptions): Promise<Store>;
  /** Opens a copy that was made of it. */
  openBackup(path: string, tables: readonly AnyTables[]): Promise<Store>;
  /** A path at which nothing is yet. */
  freePath(): string;
  /** Leaves nothing behind. */
  remove(): Promise<void>;
}

/** What the contract asks of some stores. */
interface PlaceOptions {
  /** The clock, in milliseconds since 1970. */
  readonly now?: () => number;
  /** How many commits may wait. */
  readonly maxWaiting?: number;
}

/** A place for the running test. */
export async function placeFor(subject: StoreSubject): Promise<StorePlace> {
  const place = await subject.place();
  onTestFinished(() => place.remove());
  return {
    ...place,
    async open(tables, options) {
      const store = await place.open(tables, options);
      onTestFinished(() => store.close());
      return store;
    },
    async openBackup(path, tables) {
      const store = await place.openBackup(path, tables);
      onTestFinished(() => store.close());
      return store;
    },
  };
}

/** An empty store for the running test. */
export async function storeFor(
  subject: StoreSubject,
  tables: readonly AnyTables[],
  options?: PlaceOptions,
): Promise<Store> {
  return (await placeFor(subject)).open(tables, options);
}

/** Expects the store to refuse. */
export async function expectRefusal(
  refused: Promise<unknown>,
  code: StoreErrorCode,
  message: string | RegExp = "",
): Promise<void> {
  const error: unknown = await refused.then(
    (value) => ({ fulfilled: value }),
    (reason) => reason,
  );
  expect(error).toMatchObject({ name: "StoreError", code });
  expect(error).toHaveProperty("message", expect.stringMatching(message));
}
