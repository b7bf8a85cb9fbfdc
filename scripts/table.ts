/** Where a column's text stands. */
export type Alignment = "left" | "right";

/** Lays out rows under a heading, columns padded to their widest cell. */
export function table(
  heading: readonly string[],
  rows: readonly (readonly string[])[],
  alignments: readonly Alignment[],
): string {
  const widths = heading.map((title, column) =>
    Math.max(title.length, ...rows.map((row) => (row[column] ?? "").length)),
  );
  const line = (cells: readonly string[]) =>
    widths
      .map((width, column) => {
        const cell = cells[column] ?? "";
        return alignments[column] === "right" ? cell.padStart(width) : cell.padEnd(width);
      })
      .join("  ")
      .trimEnd();
  return [line(heading), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}
