import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { type ConversationEvent, connect, type ReinsClient, type Session } from "@reins/sdk";
import { seededRandom } from "../../../scripts/torture/random.ts";
import type { Torture } from "../../../scripts/torture/torture.ts";
import { RestateServer, restateProgram } from "../../restate/test/restate-server.ts";
import { PostgresServer, postgresFolder } from "../../store/test/postgres-server.ts";
import { TestCluster } from "../system/support/cluster.ts";
import { beginFile, endFile, folder, killRunning } from "../system/support/reins.ts";

const NODES = ["a", "b", "c"];
const SESSIONS = 3;
/** How far an agent counts in a turn, how many turns every session gets to its end between two faults, and how long it may take. */
const [COUNT, TURNS, PATIENCE_MS] = [150, 1, 120_000];

/** A client that has an agent count, again and again, whatever happens to its turns. */
class Counting {
  /** How many turns were acknowledged. */
  done = 0;
  /** What it saw that no client may. */
  failure: unknown;
  readonly #session: Session;
  #isOver = false;
  readonly #going: Promise<void>;

  constructor(session: Session) {
    this.#session = session;
    this.#going = this.#go();
    this.#going.catch((error: unknown) => {
      this.failure = error;
    });
  }

  async end(): Promise<void> {
    this.#isOver = true;
    await this.#going;
  }

  /** Checks that what is stored has no gap and no repeat, and every turn that was acknowledged. */
  async check(): Promise<void> {
    const turns = turnsIn(await Array.fromAsync(this.#session.history()));
    for (const turn of turns) assert.deepEqual(turn, upTo(turn.length));
    const whole = turns.filter(({ length }) => length === COUNT).length;
    assert(whole >= this.done, `${this.done} turns were acknowledged, and ${whole} are stored`);
  }

  async #go(): Promise<void> {
    while (!this.#isOver) {
      const seen: ConversationEvent[] = [];
      let stopReason = "";
      try {
        for await (const event of this.#session.prompt(`count ${COUNT}`))
          if (event.type === "end") stopReason = event.stopReason;
          else seen.push(event);
        const whole =
          stopReason === "end_turn" ? [upTo(COUNT)] : turnsIn(seen).map(({ length }) => upTo(length));
        assert.deepEqual(turnsIn(seen), whole, `a turn that ended with ${stopReason}`);
        if (stopReason === "end_turn") this.done += 1;
      } catch (error) {
        if (error instanceof assert.AssertionError) throw error;
        // An interrupted turn is the beginning of one.
        for (const turn of turnsIn(seen)) assert.deepEqual(turn, upTo(turn.length));
        await sleep(100);
      }
    }
  }
}

const FAULTS = ["kill", "kill", "hang", "link", "database"] as const;

/** A Restate, where there is one for this machine. */
function startRestate(): Promise<RestateServer> | undefined {
  return restateProgram === undefined ? undefined : RestateServer.start();
}

function settingsFor({ ingress: address, admin, identityKey }: RestateServer): string {
  const restate = { address, admin, identity_keys: [identityKey] };
  return `graphs: { engine: restate, restate: ${JSON.stringify(restate)} }`;
}

/** Whatever runs of graphs do is allowed. */
const RULES = "tool_rules:\n  - { name: all, condition: {}, verdict: allowed }\n";
/** How many effects a durable run has. */
const EFFECTS = 4;

/** Durable runs that Restate carries, each of effects that would show if they were repeated. */
class DurableRuns {
  readonly #cluster: TestCluster;
  readonly #file: string;
  readonly #begun: string[] = [];

  constructor(cluster: TestCluster) {
    this.#cluster = cluster;
    this.#file = join(cluster.workspace, "effects.txt");
  }

  /** Begins one, unless nothing can begin now. */
  async begin(): Promise<void> {
    const run_id = `run${this.#begun.length + 1}`;
    const actions = Array.from({ length: EFFECTS * 2 }, (_, index) => ({
      id: `a${index}`,
      ...(index > 0 && { depends_on: [`a${index - 1}`] }),
      ...(index % 2 === 0
        ? {
            executor: { type: "tool", target: "run_command" },
            input: { command: `echo ${run_id}-${index} >> effects.txt` },
          }
        : { executor: { type: "runtime", target: "wait" }, input: { seconds: 1 } }),
    }));
    const declaration = {
      ...{ type: "agent.protocol", version: "1", intent: "execute", persist: true },
      execution: { mode: "durable", strategy: "dag" },
      payload: { type: "action_graph", actions },
    };
    const body = JSON.stringify({ declaration, run_id, cwd: this.#cluster.workspace });
    const headers = { "content-type": "application/json" };
    const { status } = await this.#cluster.ask("/v1/runs", { method: "POST", headers, body });
    if (status < 300) this.#begun.push(run_id);
  }

  /** Checks that every run comes to an end, and that no effect happened twice. */
  async check(signal: AbortSignal): Promise<void> {
    const until = performance.now() + PATIENCE_MS;
    for (const run of this.#begun)
      for (let status = ""; !["completed", "failed", "blocked"].includes(status); ) {
        signal.throwIfAborted();
        assert(performance.now() < until, `the run ${run} is still ${status}`);
        const { body } = await this.#cluster.ask(`/v1/runs/${run}/graph`).catch(() => ({ body: {} }));
        status = body?.status ?? "";
        await sleep(100);
      }
    const lines = (await readFile(this.#file, "utf8").catch(() => "")).split("\n").filter(Boolean);
    assert.equal(new Set(lines).size, lines.length, `an effect was repeated: ${lines}`);
  }
}

export default {
  name: "nodes",
  title:
    "Three nodes are one Reins while they are killed and stopped, and their database is killed: no update is lost or repeated",
  async run({ seed, scale, signal, log }) {
    if (postgresFolder === undefined) return log("there is no PostgreSQL for this machine");
    const random = seededRandom(seed);
    // A test has its folder already.
    const isAlone = folder === "";
    if (isAlone) beginFile();
    const server = await PostgresServer.start();
    const clients: ReinsClient[] = [];
    let cluster: TestCluster | undefined;
    const restate = scale === "small" ? undefined : await startRestate();
    try {
      cluster = await TestCluster.start(server.address(), NODES, {
        hasLinks: true,
        ...(restate && { settings: settingsFor(restate), files: { "constitution.yaml": RULES } }),
      });
      const { url, token, workspace } = cluster;
      const counting: Counting[] = [];
      for (let index = 0; index < SESSIONS; index += 1) {
        const client = await connect(url, { token });
        clients.push(client);
        counting.push(new Counting(await client.sessions.create({ agent: "scripted", cwd: workspace })));
      }
      const progress = async () => {
        const goals = counting.map(({ done }) => done + TURNS);
        const until = performance.now() + PATIENCE_MS;
        while (counting.some(({ done }, index) => done < (goals[index] ?? 0))) {
          signal.throwIfAborted();
          for (const { failure } of counting) if (failure !== undefined) throw failure;
          assert(performance.now() < until, `no turn ends: ${counting.map(({ done }) => done)}`);
          await sleep(50);
        }
      };
      const faults = {
        async kill(nodes: TestCluster) {
          const name = random.pick(NODES);
          await nodes.kill(name);
          await sleep(random.int(2_000));
          await nodes.restart(name);
        },
        /** Shorter or longer than a claim counts. */
        hang: (nodes: TestCluster) => nodes.hang(random.pick(NODES), 500 + random.int(9_500)),
        /** The others reach it no more, and it reaches them. */
        link: (nodes: TestCluster) => nodes.cutOff(random.pick(NODES), 500 + random.int(9_500)),
        async restate() {
          await restate?.kill();
          await sleep(random.int(3_000));
          await restate?.resume();
        },
        async database() {
          await server.kill();
          await sleep(random.int(1_000));
          await server.resume();
        },
      };
      const runs = restate && new DurableRuns(cluster);
      await progress();
      const rounds = scale === "small" ? 2 : 60;
      for (let round = 1; round <= rounds; round += 1) {
        const fault = random.pick(restate ? [...FAULTS, "restate" as const] : FAULTS);
        log(`${round} of ${rounds}: ${fault}`);
        await runs?.begin().catch(() => undefined);
        await faults[fault](cluster);
        await progress();
        log(`turns: ${counting.map(({ done }) => done).join(", ")}`);
      }
      await Promise.all(counting.map((one) => one.end()));
      for (const one of counting) await one.check();
      await runs?.check(signal);
      const verified = await cluster.node("a").home.run("ledger", "verify");
      assert.equal(verified.code, 0, verified.stdout + verified.stderr);
    } finally {
      for (const client of clients) await client.close().catch(() => undefined);
      cluster?.close();
      await killRunning();
      await restate?.stop();
      await server.stop();
      if (isAlone) endFile();
    }
  },
} satisfies Torture;

function upTo(count: number): number[] {
  return Array.from({ length: count }, (_, index) => index + 1);
}

/** What an agent counted, turn by turn. */
function turnsIn(events: readonly ConversationEvent[]): number[][] {
  const turns: number[][] = [];
  for (const event of events) {
    const number = event.type === "text" ? Number(/^(\d+) $/.exec(event.text)?.[1]) : Number.NaN;
    if (number === 1) turns.push([]);
    if (!Number.isNaN(number)) (turns.at(-1) ?? turns[turns.push([]) - 1])?.push(number);
  }
  return turns;
}
