import { readFileSync } from "node:fs";
import { connect, type ReinsClient, type Session } from "@reins/sdk";
import type { Bench, BenchContext, BenchRow } from "../../../scripts/bench/bench.ts";
import { PostgresServer, postgresFolder } from "../../store/test/postgres-server.ts";
import { TestCluster } from "../system/support/cluster.ts";
import { beginFile, endFile, killRunning } from "../system/support/reins.ts";

const SIZES = {
  quick: { prompts: 100, turns: 300, rounds: 1 },
  full: { prompts: 500, turns: 1_500, rounds: 3 },
};
/** Tenants, each with sessions that are prompted at once. */
const [TENANTS, SESSIONS] = [3, 6];
const WARM_UP = 64;
/** So many prompts one way, then as many the other. */
const BLOCK = 25;
/** The unit in which Linux counts the time of processors. */
const TICK_MS = 10;

/** Nodes behind a balancer, with clients that are closed with them. */
class Room {
  readonly cluster: TestCluster;
  readonly #clients: ReinsClient[] = [];

  constructor(cluster: TestCluster) {
    this.cluster = cluster;
  }

  static async with<Result>(
    server: PostgresServer,
    names: readonly string[],
    run: (room: Room) => Promise<Result>,
  ): Promise<Result> {
    const room = new Room(await TestCluster.start(server.address(), names));
    try {
      return await run(room);
    } finally {
      for (const client of room.#clients) await client.close();
      room.cluster.close();
      await killRunning();
    }
  }

  async client(url = this.cluster.url, token = this.cluster.token): Promise<ReinsClient> {
    const client = await connect(url, { token });
    this.#clients.push(client);
    return client;
  }

  async session(client: ReinsClient): Promise<Session> {
    return client.sessions.create({ agent: "scripted", cwd: this.cluster.workspace });
  }

  /** A client of a tenant of its own. */
  async tenant(tenant: string): Promise<ReinsClient> {
    const { home } = this.cluster.nodes[0] ?? never();
    await home.done(
      "user",
      "add",
      tenant,
      "--tenant",
      tenant,
      "--name",
      tenant,
      "--email",
      `${tenant}@example.com`,
    );
    const of = ["--user", tenant, "--tenant", tenant, "--agents", "*", "--started", "interactive"];
    const { secret } = await home.json("token", "create", ...of);
    return this.client(this.cluster.url, secret);
  }
}

/**
 * How long a prompt takes through the node that serves it, and through another. The time of processors tells of a busy
 * machine what the clock does not.
 */
async function forwarding(server: PostgresServer, prompts: number): Promise<BenchRow[]> {
  return Room.with(server, ["a", "b"], async (room) => {
    const { cluster } = room;
    const first = await room.session(await room.client(cluster.urlOf("a")));
    const owner = await cluster.ownerOf();
    const other = owner === "a" ? "b" : "a";
    const direct = owner === "a" ? first : await room.session(await room.client(cluster.urlOf(owner)));
    const through = await room.session(await room.client(cluster.urlOf(other)));
    const took = { direct: new Prompts(direct), through: new Prompts(through) };
    const nodes = cluster.nodes.map(({ reins }) => reins.pid);
    for (const one of Object.values(took)) await one.run(WARM_UP, nodes);
    for (const one of Object.values(took)) one.forget();
    for (let number = 0; number < prompts; number += BLOCK)
      for (const one of Object.values(took)) await one.run(BLOCK, nodes);
    return [
      {
        what: "a prompt through another node (p50)",
        value: took.through.median,
        unit: "ms",
        baseline: { what: "through the node that serves it", value: took.direct.median },
      },
      {
        what: "what it takes longer there (p50)",
        value: took.through.median - took.direct.median,
        unit: "ms",
        baseline: { what: "wanted", value: 1.5 },
        bar: { ratio: 1, sense: "at most" },
      },
      {
        what: "time of processors on both nodes, through another node",
        value: took.through.processor,
        unit: "ms",
        baseline: { what: "through the node that serves it", value: took.direct.processor },
      },
    ];
  });
}

/** The prompts of a session, one after another, and what they took. */
class Prompts {
  readonly #session: Session;
  #times: number[] = [];
  #ticks = 0;

  constructor(session: Session) {
    this.#session = session;
  }

  get median(): number {
    return median(this.#times);
  }

  /** Of each prompt, in milliseconds. */
  get processor(): number {
    return (this.#ticks * TICK_MS) / Math.max(1, this.#times.length);
  }

  async run(many: number, nodes: readonly number[]): Promise<void> {
    const before = ticksOf(nodes);
    for (let number = 0; number < many; number += 1) {
      const start = performance.now();
      await this.#session.prompt("say").result();
      this.#times.push(performance.now() - start);
    }
    this.#ticks += ticksOf(nodes) - before;
  }

  forget(): void {
    this.#times = [];
    this.#ticks = 0;
  }
}

/** The time that processes had of processors, in the unit in which Linux counts it. */
function ticksOf(processes: readonly number[]): number {
  return processes.reduce((sum, pid) => {
    // Behind the name, which may hold anything: the state first, user and system time as the twelfth and thirteenth.
    const fields = readFileSync(`/proc/${pid}/stat`, "utf8")
      .replace(/^.*\) /, "")
      .split(" ");
    return sum + Number(fields[11]) + Number(fields[12]);
  }, 0);
}

/** How many turns of several tenants a second end on nodes. */
async function turnsOf(server: PostgresServer, names: readonly string[], turns: number): Promise<number> {
  return Room.with(server, names, async (room) => {
    const sessions: Session[] = [];
    for (let tenant = 0; tenant < TENANTS; tenant += 1) {
      const client = await room.tenant(`t${tenant}`);
      for (let number = 0; number < SESSIONS; number += 1)
        sessions.push(await client.sessions.create({ agent: "scripted" }));
    }
    let left = 0;
    const prompt = async (session: Session) => {
      while (left > 0) {
        left -= 1;
        await session.prompt("say").result();
      }
    };
    left = WARM_UP;
    await Promise.all(sessions.map(prompt));
    left = turns;
    const start = performance.now();
    await Promise.all(sessions.map(prompt));
    return turns / ((performance.now() - start) / 1_000);
  });
}

async function throughput(server: PostgresServer, turns: number, rounds: number): Promise<BenchRow> {
  const [three, one]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    one.push(await turnsOf(server, ["a"], turns));
    three.push(await turnsOf(server, ["a", "b", "c"], turns));
  }
  return {
    what: `turns of ${TENANTS} tenants on three nodes`,
    value: median(three),
    unit: "turns/s",
    baseline: { what: "on one node of the same machine", value: median(one) },
    bar: { ratio: 0.9, sense: "at least" },
  };
}

function median(values: readonly number[]): number {
  return values.toSorted((left, right) => left - right)[Math.floor(values.length / 2)] ?? 0;
}

function never(): never {
  throw new Error("there is no node");
}

export default {
  name: "cluster",
  title: "Nodes on one PostgreSQL: passing a prompt on, and three nodes beside one",
  async run({ scale }: BenchContext) {
    if (postgresFolder === undefined) return [];
    const { prompts, turns, rounds } = SIZES[scale];
    beginFile();
    const server = await PostgresServer.start({ fsync: true });
    try {
      return [...(await forwarding(server, prompts)), await throughput(server, turns, rounds)];
    } finally {
      await server.stop();
      await endFile();
    }
  },
} satisfies Bench;
