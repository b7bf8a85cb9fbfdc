import type { DatabaseSync, SQLOutputValue } from "node:sqlite";
import { zstdDecompressSync } from "node:zlib";
import type { EntryRow } from "./entry-line.ts";

/** The dictionary that the first byte of a packed body names. */
const FIRST = 1;

/** Reads the bodies of entries: as they are, or packed with the sample that the database keeps. */
export class BodyReader {
  /** Whether the database may hold packed bodies. */
  readonly packs: boolean;
  readonly #sample: Buffer;

  private constructor(packs: boolean, sample: string) {
    this.packs = packs;
    this.#sample = Buffer.from(sample);
  }

  /** The reader for a database. */
  static of(database: DatabaseSync): BodyReader {
    const columns = database.prepare("SELECT name FROM pragma_table_info('ledger_entries')").all();
    const row = database.prepare("SELECT value FROM ledger_meta WHERE name = 'sample_1'").get();
    return new BodyReader(
      columns.some(({ name }) => name === "packed"),
      String(row?.value ?? ""),
    );
  }

  /** A row with its body unpacked; one that cannot be has none. */
  read(row: EntryRow): EntryRow {
    const { packed, ...rest } = row;
    return { ...rest, body: this.bodyOf(row.body ?? null, packed ?? null) };
  }

  /** The body of an entry. */
  bodyOf(body: SQLOutputValue, packed: SQLOutputValue): SQLOutputValue {
    if (!(packed instanceof Uint8Array)) return body;
    if (packed[0] !== FIRST || body !== "") return null;
    try {
      return zstdDecompressSync(packed.subarray(1), { dictionary: this.#sample }).toString();
    } catch {
      return null;
    }
  }
}
