import { Child } from "../test/child.ts";
import type { FaultPlan } from "../test/faults.ts";

/** What a process does before it is killed. */
export interface CrashOrder {
  readonly path: string;
  /** Names the producers of this process. */
  readonly run: number;
  readonly producers: number;
  /** Which share of the commits is to survive a power cut. */
  readonly durable: number;
  /** Of the notes. */
  readonly maxLength: number;
  /** Whether what is in the log is moved to its place in the file from time to time, as usual. */
  readonly checkpointed: boolean;
  /** Where it kills itself, if it is not killed before. */
  readonly fault?: FaultPlan;
}

/** How many commits of each producer settled, as the process reported before its end. */
export type Settled = ReadonlyMap<string, number>;

/** Lets a process commit until `settled` commits have settled and `milliseconds` have passed, or it kills itself. */
export async function crash(order: CrashOrder, settled: number, milliseconds: number): Promise<Settled> {
  const child = Child.start(new URL("./crash-child.ts", import.meta.url), [JSON.stringify(order)]);
  const counts = new Map<string, number>();
  try {
    let told = 0;
    for await (const producer of child) {
      counts.set(String(producer), (counts.get(String(producer)) ?? 0) + 1);
      told += 1;
      if (told === settled) setTimeout(() => void child.kill(), milliseconds);
    }
  } finally {
    await child.kill();
  }
  if (child.errors) throw new Error(`the process that was to be killed failed: ${child.errors}`);
  return counts;
}
