/** A row of the database, column by column. */
export class Row {
  readonly #columns: ReadonlyMap<string, unknown>;

  constructor(row: unknown) {
    this.#columns = new Map(typeof row === "object" && row !== null ? Object.entries(row) : []);
  }

  text(column: string): string {
    return String(this.#columns.get(column));
  }

  optional(column: string): string | undefined {
    return this.#columns.get(column) === null ? undefined : this.text(column);
  }

  number(column: string): number {
    return Number(this.#columns.get(column) ?? 0);
  }

  list(column: string): readonly string[] {
    const list: unknown = JSON.parse(this.text(column));
    return Array.isArray(list) ? list.map(String) : [];
  }

  bytes(column: string): Uint8Array {
    const bytes = this.#columns.get(column);
    if (bytes instanceof Uint8Array) return bytes;
    throw new TypeError(`the column ${column} holds no bytes`);
  }
}
