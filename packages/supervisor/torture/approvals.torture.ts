import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Random, seededRandom } from "../../../scripts/torture/random.ts";
import type { Torture, TortureContext } from "../../../scripts/torture/torture.ts";
import { JOURNEYS } from "./approvals/journeys.ts";
import { anywhere, atBoundary, CALM, type Plan } from "./approvals/plan.ts";
import { Traveller } from "./approvals/traveller.ts";
import { World } from "./approvals/world.ts";

/** How many runs share a home: later ones find what earlier ones left. */
const RUNS_PER_HOME = 25;
const RUNS = { small: 8, full: 1_000 } as const;

/** A kind of journey and the boundary at which it is cut. */
interface Cut {
  readonly name: string;
  readonly boundary: number;
}

const torture: Torture = {
  name: "approvals",
  title:
    "Killed at any write and at any step, approvals are neither lost nor applied twice, and approval, ledger entry and event agree.",
  run: (context) => new Runs(context).run(),
};

export default torture;

class Runs {
  readonly #context: TortureContext;
  readonly #random: Random;
  readonly #latencies: number[] = [];
  #cache: string | undefined;
  #world: World | undefined;
  #kills = 0;
  #runs = 0;

  constructor(context: TortureContext) {
    this.#context = context;
    this.#random = seededRandom(context.seed);
  }

  async run(): Promise<void> {
    const { scale, log, signal } = this.#context;
    try {
      const cuts = await this.#findCuts();
      const chosen = shuffled(cuts, this.#random);
      let cut = 0;
      for (let run = 1; run <= RUNS[scale] && !signal.aborted; run += 1) {
        // Most runs take the boundaries in turn, so that in the end each is hit; the others kill anywhere.
        const next = this.#random.chance(0.7) ? chosen[cut++] : undefined;
        const name = next?.name ?? this.#random.pick(Object.keys(JOURNEYS));
        const plan = next ? atBoundary(next.boundary, this.#random) : anywhere(this.#random);
        await this.#travel(name, plan);
        if (run % 100 === 0) log(`${run} runs, ${this.#allKills} kills`);
      }
      await this.#finishHome();
      log(
        `${this.#runs} runs, ${this.#kills} kills, ${Math.min(cut, cuts.length)} of ${cuts.length} boundaries`,
      );
      log(`subscribers knew after ${this.#quantile(0.5)} ms (median), ${this.#quantile(0.99)} ms (99 %)`);
    } finally {
      await this.#world?.remove();
      if (this.#cache !== undefined) await rm(this.#cache, { recursive: true, force: true });
    }
  }

  /** Travels each way once in peace, and counts the boundaries on it. */
  async #findCuts(): Promise<Cut[]> {
    const cuts: Cut[] = [];
    for (const name of Object.keys(JOURNEYS)) {
      const before = await this.#world?.passed();
      await this.#travel(name, CALM);
      const passed = ((await this.#world?.passed()) ?? 0) - (before ?? 0);
      this.#context.log(`${name}: ${passed} boundaries`);
      for (let boundary = 1; boundary <= passed; boundary += 1) cuts.push({ name, boundary });
    }
    return cuts;
  }

  async #travel(name: string, plan: Plan): Promise<void> {
    this.#runs += 1;
    if (this.#runs % RUNS_PER_HOME === 0) await this.#finishHome();
    this.#cache ??= await mkdtemp(join(tmpdir(), "approvals-torture-cache-"));
    this.#world ??= await World.make(this.#cache);
    const world = this.#world;
    try {
      await world.begin(`tenant-${this.#runs}`, plan);
      const traveller = new Traveller(world, this.#random);
      await JOURNEYS[name]?.(traveller);
      await traveller.withdraw();
      await world.end();
    } catch (error) {
      const why = error instanceof Error ? (error.stack ?? error.message) : String(error);
      throw new Error(`run ${this.#runs}, ${name}, ${describe(plan)}: ${why}`, { cause: error });
    }
  }

  async #finishHome(): Promise<void> {
    const world = this.#world;
    if (!world) return;
    this.#latencies.push(...(await world.finish()));
    this.#kills += world.kills;
    this.#world = undefined;
    await world.remove();
  }

  get #allKills(): number {
    return this.#kills + (this.#world?.kills ?? 0);
  }

  #quantile(share: number): number {
    // Those in whose middle the clock was set say nothing.
    const sorted = this.#latencies.filter((late) => late < 60_000).sort((left, right) => left - right);
    return sorted[Math.floor(share * (sorted.length - 1))] ?? 0;
  }
}

function describe({ boundary, again, calls }: Plan): string {
  return JSON.stringify({ boundary, again, calls: [...calls] });
}

function shuffled<Item>(items: readonly Item[], random: Random): Item[] {
  const rest = [...items];
  return Array.from({ length: items.length }, () => rest.splice(random.int(rest.length), 1)).flat();
}
