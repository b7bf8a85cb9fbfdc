import { deflateSync, inflateSync } from "node:zlib";
import { readJson } from "@reins/kit/json";
import { StoreError } from "./store-error.ts";

/**
 * Parses JSON that was stored by us, and so is what its writer says. `JSON.parse` can misread names with escapes
 * (`@reins/kit` says how), and stored rows hold names that agents chose; a text without a backslash has no escape.
 */
export function parseStored<Stored = unknown>(text: string): Stored {
  if (!text.includes("\\")) return JSON.parse(text);
  // The type is that of the rows, which their writer checked.
  return readJson(text, Number).value as Stored;
}

/** The buffers that the packed form is written to: most texts are short, and an allocation costs more than the packing. */
const [SMALL, LARGE] = [1_024, 16_384];

/**
 * Texts in less room: compressed by zlib with a dictionary that resembles them, with a checksum. The first byte says
 * with which dictionary, so that another may be added. Zlib, because for texts of a few hundred bytes it takes half the
 * time of zstd, whose contexts are larger, and packs them as tightly.
 */
export class TextPacker {
  readonly #number: number;
  readonly #dictionary: Buffer;

  constructor(number: number, dictionary: string) {
    this.#number = number;
    this.#dictionary = Buffer.from(dictionary);
  }

  pack(text: string): Uint8Array {
    const chunkSize = text.length < 4 * SMALL ? SMALL : LARGE;
    const packed = deflateSync(Buffer.from(text), { dictionary: this.#dictionary, chunkSize });
    return Buffer.concat([Buffer.of(this.#number), packed]);
  }

  unpack(bytes: Uint8Array): string {
    if (bytes[0] !== this.#number) throw new StoreError("newer", "a text was packed by a newer version");
    try {
      return inflateSync(bytes.subarray(1), { dictionary: this.#dictionary }).toString();
    } catch (error) {
      throw new StoreError("corrupt", "a text in the database is damaged", { cause: error });
    }
  }
}
