/** What one step of a test run came to. A check counts as one; a vitest project counts its tests. */
export interface StepResult {
  name: string;
  seconds: number;
  passed: number;
  failed: number;
  skipped: number;
  /** Titles of what was skipped, which the summary repeats. */
  skippedTitles: string[];
}
