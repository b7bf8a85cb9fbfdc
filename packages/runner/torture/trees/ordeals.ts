import { seededRandom } from "../../../../scripts/torture/random.ts";
import { executeKill } from "../../src/kill/execute-kill.ts";
import type { LiveProcess } from "../../src/kill/kill-switch.ts";
import { AgentProcess } from "../../src/process/agent-process.ts";
import { Owner } from "../../src/process/owner.ts";
import { homePrefix } from "../../src/process/process-table.ts";
import type { Sandbox } from "../../src/sandbox/confine.ts";
import { expectNobodyWatching, expectNone, expectTruth, PROMISED_MS } from "./expectations.ts";
import { nastyTree } from "./nasty-tree.ts";
import { folderIn, type Planted, plant } from "./planted.ts";
import { clear, gone, lifelinesOf, residentsOf, standing } from "./residents.ts";
import { startParent } from "./start-parent.ts";

/** What an ordeal is made of. */
export interface Ordeal {
  readonly trees: number;
  readonly seed: number;
  /** A folder for all of it. */
  readonly place: string;
  /** Where the trees are confined; without one, they are not. */
  readonly sandbox?: Sandbox;
  readonly signal: AbortSignal;
}

/** How many trees a process that plays Reins has when it is killed. */
const TOGETHER = 5;
/** Far more than a lifeline needs; without a sandbox, no time is promised. */
const PATIENCE_MS = 20_000;

/** Each tree is stopped, at a time that suits it or not. Throws unless they end as promised; tells how it went. */
export async function stopTrees({ trees, seed, place, sandbox, signal }: Ordeal): Promise<string> {
  const random = seededRandom(seed);
  const home = await folderIn(place);
  const options = { owner: new Owner(home), onFault: () => undefined, ...(sandbox && { sandbox }) };
  let processes = 0;
  let left = 0;
  for (let count = 0; count < trees; count += 1) {
    const planted = await plant(place, home, nastyTree(random), sandbox);
    const { folder, tree } = planted;
    const ripe = random.chance(0.8);
    const graceMs = random.pick([0, 100, 400]);
    try {
      const agent = await AgentProcess.start(planted.launch, options);
      agent.onMessage(() => undefined);
      if (ripe && !tree.brief) await standing(folder, tree.ups, signal);
      else if (ripe) await agent.exited;
      const report = await agent.stop({ graceMs });
      if (sandbox) expectNone(await gone(() => residentsOf(folder), PROMISED_MS), planted);
      expectTruth(report, residentsOf(folder), planted);
      processes += report.gone.length + report.left.length;
      left += report.left.length;
    } finally {
      clear(folder);
    }
  }
  expectNobodyWatching(await gone(() => lifelinesOf(home), PATIENCE_MS));
  return `${trees} stopped: ${processes} processes were seen, ${left} told as left`;
}

/** Trees that run side by side are killed as an operator does it. Throws unless the report is what the process table says. */
export async function killTrees({ trees, seed, place, sandbox, signal }: Ordeal): Promise<string> {
  const random = seededRandom(seed + 2);
  const home = await folderIn(place);
  const owner = new Owner(home);
  const ground = { table: owner.table, prefix: homePrefix(home), now: () => new Date() };
  let processes = 0;
  let left = 0;
  for (let count = 0; count < trees; count += TOGETHER) {
    const planted: Planted[] = [];
    const live: LiveProcess[] = [];
    try {
      while (planted.length < Math.min(TOGETHER, trees - count)) {
        const one = await plant(place, home, nastyTree(random), sandbox);
        planted.push(one);
        const options = { owner, onFault: () => undefined, ...(sandbox && { sandbox }) };
        const agent = await AgentProcess.start(one.launch, options);
        agent.onMessage(() => undefined);
        live.push(liveProcess(agent));
        if (!one.tree.brief) await standing(one.folder, one.tree.ups, signal);
      }
      const order = {
        id: String(count),
        target: { kind: "all" },
        tenant: null,
        by: "torture",
        reason: null,
      } as const;
      const report = await executeKill(order, live, ground);
      for (const one of planted) expectTruth(report, residentsOf(one.folder), one);
      processes += report.gone.length + report.left.length;
      left += report.left.length;
    } finally {
      for (const { folder } of planted) clear(folder);
    }
  }
  return `${trees} killed: ${processes} processes were seen, ${left} told as left`;
}

function liveProcess({ pid, mark }: AgentProcess): LiveProcess {
  return {
    ...{ id: String(pid), agent: "tree", pid, roots: [{ pid, mark }], tenant: "default", principal: "local" },
    ...{ confined: false, sessions: [], started_at: new Date().toISOString() },
  };
}

/** Kills the parent of some trees. Throws unless they end as promised; returns how it went. */
export async function orphanTrees({ trees, seed, place, sandbox, signal }: Ordeal): Promise<string> {
  const random = seededRandom(seed + 1);
  const all = Array.from({ length: trees }, () => nastyTree(random));
  let strays = 0;
  let slowest = 0;
  for (let count = 0; count < all.length; count += TOGETHER) {
    const home = await folderIn(place);
    const planted: Planted[] = [];
    for (const tree of all.slice(count, count + TOGETHER))
      planted.push(await plant(place, home, tree, sandbox));
    const launches = planted.map(({ launch }) => launch);
    const parent = await startParent({ home, launches, ...(sandbox && { sandbox }) });
    try {
      for (const { folder, tree } of planted) if (!tree.brief) await standing(folder, tree.ups, signal);
      const killed = performance.now();
      await parent.kill();
      for (const one of planted) {
        const patience = sandbox ? Math.max(0, PROMISED_MS - (performance.now() - killed)) : PATIENCE_MS;
        const left = await gone(() => residentsOf(one.folder), patience);
        strays += left.length;
        if (sandbox) expectNone(left, one);
      }
      slowest = Math.max(slowest, performance.now() - killed);
      const report = await new Owner(home).sweepStrays();
      for (const one of planted) expectTruth(report, residentsOf(one.folder), one);
      expectNobodyWatching(await gone(() => lifelinesOf(home), PATIENCE_MS));
    } finally {
      await parent.kill();
      for (const { folder } of planted) clear(folder);
    }
  }
  return `${trees} orphaned: all gone after at most ${slowest.toFixed(0)} ms, but for ${strays} processes`;
}
