/** Code that reads what comes from outside, and input made to be slow for it. */
export interface Grower {
  readonly name: string;
  /** Input of about `size` characters or bytes; made before the clock runs. */
  readonly input: (size: number) => unknown;
  readonly run: (input: never) => unknown;
}

/** Declares one; keeps the type of its input. */
export function grower<Input>(
  name: string,
  run: (input: Input) => unknown,
  input: (size: number) => Input,
): Grower {
  return { name, input, run };
}

/** Ten times the input may cost this much more; linear code with a garbage collector stays below, a square is 100. */
export const MOST_GROWTH = 15;
/**
 * Sizes at which growth is measured until one is in order: caches, collectors and a busy machine make a step dear, a square
 * all of them.
 */
const SIZES = [20_000, 10_000, 40_000, 20_000, 80_000, 160_000, 20_000, 20_000, 20_000];
/** A measurement takes at least this long, in milliseconds; what is faster runs several times. */
const NOTICEABLE = 2;
/** Once a run takes as long as this, in milliseconds, there is nothing left to find out. */
const ENDLESS = 1_000;

/** How much more ten times the input costs; the least that was measured at several sizes. */
export async function growthOf({ input, run }: Grower): Promise<number> {
  const make = input as (size: number) => never;
  let least = Number.POSITIVE_INFINITY;
  for (const size of SIZES) {
    const base = await costOf(run, make(size), 0);
    // Once it is in order, there is nothing left to find out.
    const cost = await costOf(run, make(size * 10), base * MOST_GROWTH);
    least = Math.min(least, cost / base);
    if (least <= MOST_GROWTH || cost > ENDLESS) break;
  }
  return least;
}

/**
 * The processor time of a run in milliseconds; the least of a few, because other processes only make it dearer, or the
 * first that is not above `enough`.
 */
async function costOf(run: (input: never) => unknown, input: never, enough: number): Promise<number> {
  let least = await timeOf(run, input, 1);
  const repeats = Math.max(1, Math.ceil(NOTICEABLE / Math.max(least, 0.01)));
  for (let attempt = 0; attempt < 4 && least > enough && least < ENDLESS; attempt += 1)
    least = Math.min(least, (await timeOf(run, input, repeats)) / repeats);
  return Math.max(least, 0.001);
}

async function timeOf(run: (input: never) => unknown, input: never, repeats: number): Promise<number> {
  const before = process.cpuUsage();
  for (let repeat = 0; repeat < repeats; repeat += 1) await run(input);
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}
