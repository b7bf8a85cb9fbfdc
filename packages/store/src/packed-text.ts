import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { StoreError } from "./store-error.ts";

const PARAMS = { [constants.ZSTD_c_checksumFlag]: 1, [constants.ZSTD_c_compressionLevel]: 6 };

/**
 * Texts in less room: compressed with a text that resembles them, with a checksum. The first byte says with which
 * dictionary, so that another may come one day.
 */
export class TextPacker {
  readonly #number: number;
  readonly #dictionary: Buffer;

  constructor(number: number, dictionary: string) {
    this.#number = number;
    this.#dictionary = Buffer.from(dictionary);
  }

  pack(text: string): Uint8Array {
    const packed = zstdCompressSync(Buffer.from(text), { dictionary: this.#dictionary, params: PARAMS });
    return Buffer.concat([Buffer.of(this.#number), packed]);
  }

  unpack(bytes: Uint8Array): string {
    if (bytes[0] !== this.#number) throw new StoreError("newer", "a text was packed by a newer version");
    try {
      return zstdDecompressSync(bytes.subarray(1), { dictionary: this.#dictionary }).toString();
    } catch (error) {
      throw new StoreError("corrupt", "a text in the database is damaged", { cause: error });
    }
  }
}
