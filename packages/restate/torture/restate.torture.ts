import { deepStrictEqual } from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Random, seededRandom } from "../../../scripts/torture/random.ts";
import type { Torture, TortureContext } from "../../../scripts/torture/torture.ts";
import { comparable, wholeRun } from "../../graph/test/whole-run.ts";
import { freePort, RestateServer } from "../test/restate-server.ts";
import { SharedJournal } from "../test/shared-journal.ts";
import { Balancer, Worker } from "../test/workers.ts";

const ROUNDS = { small: 1, full: 20 } as const;
const TOGETHER = 10;
const FAULTS = 6;
const MOST_ACTIONS = 8;
/** How long an effect takes, so that there is something to kill. */
const EFFECT_MS = 300;
const LONGEST_MS = 300_000;

type Runs = Readonly<Record<string, { readonly seed: number; readonly actions: number }>>;

const pause = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds));

const torture: Torture = {
  name: "restate",
  title:
    "two processes that carry runs and their Restate are killed at any moment; each run comes to the end it has unkilled",
  async run(context) {
    const random = seededRandom(context.seed);
    const restate = await RestateServer.start();
    try {
      for (let round = 0; round < ROUNDS[context.scale]; round += 1)
        await tortureRuns(restate, `Torture${round}`, random, context);
    } finally {
      await restate.stop();
    }
  },
};

/** Runs are carried by two processes, which are killed while they are, and so is Restate. */
async function tortureRuns(
  restate: RestateServer,
  name: string,
  random: Random,
  { signal, log }: TortureContext,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "restate-torture-"));
  const runs: Runs = Object.fromEntries(
    Array.from({ length: TOGETHER }, (_, index) => [
      `run-${index}`,
      { seed: random.int(2 ** 32), actions: 1 + random.int(MOST_ACTIONS) },
    ]),
  );
  const ports = [await freePort(), await freePort()];
  const balancer = await Balancer.open(ports);
  const [path, effects] = [join(folder, "journal.db"), join(folder, "effects")];
  const journal = new SharedJournal(path);
  const start = (port: number) => {
    const { ingress, admin, identityKey } = restate;
    const address = { ingress, admin, host: "127.0.0.1", port, identityKeys: [identityKey] };
    const settings = { ...address, advertise: balancer.address };
    return Worker.start({ settings, name, path, effects, runs, takes: EFFECT_MS });
  };
  const workers = await Promise.all(ports.map(start));
  const killed = [0, 0, 0];
  try {
    for (let fault = 0; fault < FAULTS; fault += 1) {
      signal.throwIfAborted();
      await pause(random.int(500));
      const victim = random.int(3);
      const isUnderWay = (await journal.unfinished()).length > 0;
      if (isUnderWay) killed[victim] = (killed[victim] ?? 0) + 1;
      const port = ports[victim];
      if (port === undefined) {
        await restate.kill();
        await pause(random.int(300));
        await restate.resume();
      } else {
        await workers[victim]?.kill();
        workers[victim] = await start(port);
      }
    }
    const until = performance.now() + LONGEST_MS;
    for (let left = await journal.unfinished(); left.length > 0; left = await journal.unfinished()) {
      signal.throwIfAborted();
      if (performance.now() > until) throw new Error(`these runs do not end: ${left.join(", ")}`);
      await pause(200);
    }
    await expectSame(runs, journal, effects);
    log(
      `${TOGETHER} runs; killed under way: the processes ${killed[0]} and ${killed[1]} times, Restate ${killed[2]}`,
    );
  } finally {
    for (const worker of workers) await worker.kill();
    balancer.close();
    journal.close();
    await rm(folder, { recursive: true, force: true });
  }
}

export default torture;

/** Each run ended as it does in one piece, with the same effects by their keys. */
async function expectSame(runs: Runs, journal: SharedJournal, effects: string): Promise<void> {
  const done = new Set((await readFile(effects, "utf8")).trim().split("\n"));
  const expected = new Set<string>();
  for (const [run, { seed, actions }] of Object.entries(runs)) {
    const { result, keys } = await wholeRun({ id: run, seed, actions });
    for (const key of keys) expected.add(key);
    const end = (await journal.load(run))?.end;
    deepStrictEqual(
      comparable(end?.state === "ended" ? end.result : end),
      comparable(result),
      `${run}, seed ${seed}, ${actions} actions`,
    );
  }
  deepStrictEqual([...done].sort(), [...expected].sort());
}
