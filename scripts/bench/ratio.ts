import type { BenchRow } from "./bench.ts";

/** A row with what follows from it: the ratio to its baseline, and whether that kept to its bar. */
export interface JudgedRow extends BenchRow {
  ratio?: number;
  held?: boolean;
}

/** Works out a row's ratio and whether its bar held; without a baseline there is neither. */
export function judge(row: BenchRow): JudgedRow {
  if (!row.baseline) return row;
  const ratio = row.value / row.baseline.value;
  if (!row.bar) return { ...row, ratio };
  return {
    ...row,
    ratio,
    held: row.bar.sense === "at most" ? ratio <= row.bar.ratio : ratio >= row.bar.ratio,
  };
}
