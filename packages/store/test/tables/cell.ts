/** A column of a row, if there is such a row. */
export function cell(row: unknown, column: string): unknown {
  return typeof row === "object" && row !== null ? Reflect.get(row, column) : undefined;
}
