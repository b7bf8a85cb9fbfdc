import type { Bytes } from "../bytes/bytes.ts";

/** A key that was announced. */
export interface Key {
  readonly id: string;
  /** The only actor whose entries it may sign. */
  readonly holder: string;
  readonly publicKey: Bytes;
}
