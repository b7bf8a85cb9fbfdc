/** What a benchmark is given. */
export interface BenchContext {
  /** `quick` is for a first impression: fewer rounds, noisier figures. */
  scale: "quick" | "full";
  /** Shows what does not fit into rows: a text, with a table of its own. */
  print: (text: string, table?: PrintedTable) => void;
}

/** A table that a benchmark shows beside its rows. */
export interface PrintedTable {
  heading: readonly string[];
  rows: readonly (readonly string[])[];
  alignments: readonly ("left" | "right")[];
}

/** One measured figure, beside what it is compared with in the same run. */
export interface BenchRow {
  what: string;
  value: number;
  unit: string;
  /** Measured in the same run and in the same unit. */
  baseline?: { what: string; value: number };
  /** What the ratio of value to baseline has to be for us to be content. */
  bar?: { ratio: number; sense: "at most" | "at least" };
}

/** The default export of a `packages/*\/bench/*.bench.ts`. */
export interface Bench {
  /** By which it is chosen on the command line. */
  name: string;
  /** What it measures, in a sentence. */
  title: string;
  run(context: BenchContext): Promise<BenchRow[]>;
}
