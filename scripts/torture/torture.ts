/** What a torture run is given. */
export interface TortureContext {
  /** Decides every random choice, so that the same seed repeats the run. */
  seed: number;
  /** `small` is the fixed part that the tests run; `full` is as long as it takes to be sure. */
  scale: "small" | "full";
  /** Aborted when the person running it has had enough. */
  signal: AbortSignal;
  /** Tells the person watching how it is going. */
  log(message: string): void;
}

/** The default export of a `packages/*\/torture/*.torture.ts`. It fails by throwing. */
export interface Torture {
  /** By which it is chosen on the command line. */
  name: string;
  /** What it shows, in a sentence. */
  title: string;
  run(context: TortureContext): Promise<void>;
}
