import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Random, seededRandom } from "../../../scripts/torture/random.ts";
import type { Torture, TortureContext } from "../../../scripts/torture/torture.ts";
import { type CrashOrder, crash } from "./crash.ts";
import { expectSound, recover } from "./recovered.ts";

const SIZES = {
  small: { lives: 1, deathsEach: 3, boundaries: 2, rows: 2_000 },
  full: { lives: 20, deathsEach: 15, boundaries: 150, rows: 100_000 },
};
/** Statements of opening, migrating and the first batches. */
const STATEMENTS = 150;

const torture: Torture = {
  name: "store-crash",
  title: "a process that commits is killed at any moment; what had settled is there, and no half of a commit",
  async run(context) {
    const folder = await mkdtemp(join(tmpdir(), "store-crash-"));
    const random = seededRandom(context.seed);
    try {
      await killAtAnyTime(folder, random, context);
      await killAtEveryBoundary(folder, random, context);
      await recoverMany(folder, context);
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  },
};

export default torture;

/** The same database is opened and its process killed again and again. */
async function killAtAnyTime(
  folder: string,
  random: Random,
  { scale, signal, log }: TortureContext,
): Promise<void> {
  const { lives, deathsEach } = SIZES[scale];
  for (let life = 0; life < lives; life += 1) {
    const path = join(folder, `life-${life}.db`);
    let rows = 0;
    let slowest = 0;
    for (let run = 0; run < deathsEach; run += 1) {
      signal.throwIfAborted();
      const order = orderFor(path, run, random);
      const settled = await crash(order, 1 + random.int(1_500), random.int(8));
      const recovery = await recover(path, settled);
      rows = recovery.rows;
      slowest = Math.max(slowest, recovery.milliseconds);
    }
    expectSound(path);
    log(
      `database ${life + 1}: ${deathsEach} times killed, ${rows} commits, opened in at most ${slowest.toFixed(0)} ms`,
    );
  }
}

/** Each process kills itself before or after one statement, from the first of the first migration on. */
async function killAtEveryBoundary(
  folder: string,
  random: Random,
  { scale, signal, log }: TortureContext,
): Promise<void> {
  const { boundaries } = SIZES[scale];
  for (let boundary = 0; boundary < boundaries; boundary += 1) {
    const after = Math.floor((boundary * STATEMENTS) / boundaries);
    for (const done of [false, true]) {
      signal.throwIfAborted();
      const path = join(folder, `boundary-${after}-${done}.db`);
      const order = {
        ...orderFor(path, 0, random),
        producers: 7,
        fault: { fault: "kill", after, done },
      } as const;
      await recover(path, await crash(order, Number.POSITIVE_INFINITY, 0));
      expectSound(path);
    }
  }
  log(`killed before and after ${boundaries} of the first ${STATEMENTS} statements`);
}

/** Opening takes no longer for much that was written, whether or not it had reached its place in the file. */
async function recoverMany(folder: string, { scale, signal, log }: TortureContext): Promise<void> {
  const { rows } = SIZES[scale];
  for (const checkpointed of [true, false]) {
    signal.throwIfAborted();
    const path = join(folder, `many-${checkpointed}.db`);
    const order: CrashOrder = { path, run: 0, producers: 500, durable: 0.1, maxLength: 400, checkpointed };
    const settled = await crash(order, rows, 0);
    const { size } = await stat(`${path}-wal`);
    const recovery = await recover(path, settled);
    const opened = `${recovery.rows} commits, ${(size / 1e6).toFixed(0)} MB of log: open after ${recovery.milliseconds.toFixed(0)} ms`;
    if (scale === "small") {
      log(opened);
      continue;
    }
    const each = (recovery.milliseconds / recovery.rows) * 100_000;
    log(`${opened}, ${each.toFixed(0)} ms for 100,000`);
    if (each >= 1_000) throw new Error(`recovery takes ${each} ms for 100,000 commits`);
  }
}

function orderFor(path: string, run: number, random: Random): CrashOrder {
  return {
    path,
    run,
    producers: random.pick([1, 3, 20, 100, 400]),
    durable: random.pick([0, 0.3, 1]),
    maxLength: random.pick([1, 400, 10_000]),
    checkpointed: true,
  };
}
