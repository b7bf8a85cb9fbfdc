/** Something known, where it is from, and how sure that is. */
export interface Fact {
  readonly content: string;
  readonly source: string;
  /** From 0 to 1. */
  readonly confidence: number;
}
