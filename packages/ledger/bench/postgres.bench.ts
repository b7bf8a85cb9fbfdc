import { spawn } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import type { Bench, BenchRow } from "../../../scripts/bench/bench.ts";
import { PostgresServer, postgresFolder } from "../../store/test/postgres-server.ts";
import { blake3Hex } from "../src/canonical.ts";
import { appendAll, median, rowsOf } from "./append.bench.ts";
import { withHome } from "./home.ts";
import type { Row } from "./raw-sqlite.ts";

const PRODUCERS = 64;

type Client = Awaited<ReturnType<PostgresServer["connect"]>>;

/** Inserts rows with all their indexes, by one connection for each producer, each row in a transaction of its own. */
class RawPostgres {
  readonly #clients: readonly Client[];
  #seq = 0;

  private constructor(clients: readonly Client[]) {
    this.#clients = clients;
  }

  /** Its tables are those of the ledger, in a schema of their own. */
  static async open(server: PostgresServer, like: string): Promise<RawPostgres> {
    const tables = ["ledger_entries", "ledger_index", "ledger_tags"];
    const made = tables.map((name) => `CREATE TABLE raw.${name} (LIKE ${like}.${name} INCLUDING ALL)`);
    await server.run(`CREATE SCHEMA raw; ${made.join("; ")}`);
    const clients = await Promise.all(Array.from({ length: PRODUCERS }, () => server.connect()));
    await Promise.all(clients.map((client) => client.query("SET search_path = raw")));
    return new RawPostgres(clients);
  }

  async write(rows: readonly Row[]): Promise<number> {
    let next = 0;
    const start = performance.now();
    const produce = async (client: Client) => {
      for (let row = rows[next]; row; row = rows[next]) {
        next += 1;
        await this.#insert(client, row);
      }
    };
    await Promise.all(this.#clients.map(produce));
    return rows.length / ((performance.now() - start) / 1_000);
  }

  /** One statement, so that it takes one round trip. */
  async #insert(client: Client, { cid, entry, body }: Row): Promise<void> {
    const { entity_id, quality, actor, timestamp, tags } = entry;
    this.#seq += 1;
    await client.query({
      name: "insert",
      text: `WITH entry AS (INSERT INTO ledger_entries (seq, cid, entity_id, quality, actor, timestamp, body)
          VALUES ($1, $2, $3, $4, $5, $6, $7)),
        found AS (INSERT INTO ledger_index (seq, quality, actor, timestamp) VALUES ($1, $4, $5, $6))
        INSERT INTO ledger_tags (tag, seq) SELECT unnest($8::text[]), $1 ON CONFLICT DO NOTHING`,
      values: [this.#seq, cid, entity_id, quality, actor, timestamp, body, tags],
    });
  }

  async close(): Promise<void> {
    await Promise.all(this.#clients.map((client) => client.end()));
  }
}

async function throughput(server: PostgresServer, count: number, rounds: number): Promise<BenchRow> {
  return withHome(async (home) => {
    const raw = await RawPostgres.open(server, "ours");
    const [ours, theirs]: [number[], number[]] = [[], []];
    await appendAll(home.ledger, PRODUCERS, count);
    const rows = await rowsOf(home, count);
    for (let round = 0; round < rounds; round += 1) {
      theirs.push(await raw.write(rows.map((row) => ({ ...row, cid: blake3Hex(`${round}${row.cid}`) }))));
      ours.push(await appendAll(home.ledger, PRODUCERS, count));
    }
    await raw.close();
    return {
      what: `durable entries, ${PRODUCERS} producers`,
      value: median(ours),
      unit: "entries/s",
      baseline: { what: `${PRODUCERS} connections of pg, same rows and indexes`, value: median(theirs) },
      bar: { ratio: 0.6, sense: "at least" },
    };
  }, server.address("ours"));
}

/** A process that writes, and what it says next. */
async function startNode(address: string, id: string, keys: string, count: number) {
  const script = fileURLToPath(new URL("./writing-node.ts", import.meta.url));
  const child = spawn(process.execPath, [script, address, id, keys, `${PRODUCERS}`, `${count}`], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const said = async () => String((await lines.next()).value);
  await said();
  return { child, said };
}

/** How many entries a second processes of those names keep together. */
async function throughputOf(ids: readonly string[], server: PostgresServer, count: number): Promise<number> {
  const home = await mkdtemp(join(tmpdir(), "ledger-bench-"));
  const address = server.address();
  const nodes: Awaited<ReturnType<typeof startNode>>[] = [];
  try {
    for (const [index, id] of ids.entries()) {
      const keys = join(home, `${index}`);
      if (index > 0) await cp(join(home, "0"), keys, { recursive: true });
      nodes.push(await startNode(address, id, keys, count / ids.length));
    }
    for (const { child } of nodes) child.stdin.write("\n");
    const took = await Promise.all(nodes.map(({ said }) => said()));
    await Promise.all(nodes.map(({ child }) => child.exitCode ?? once(child, "exit")));
    return count / (Math.max(...took.map(Number)) / 1_000);
  } finally {
    for (const { child } of nodes) child.kill();
    await rm(home, { recursive: true, force: true });
  }
}

async function nodes(server: PostgresServer, count: number, rounds: number): Promise<BenchRow> {
  const [three, one]: [number[], number[]] = [[], []];
  for (let round = 0; round < rounds; round += 1) {
    one.push(await throughputOf([""], server, count));
    three.push(await throughputOf(["a", "b", "c"], server, count));
  }
  return {
    what: `durable entries of three nodes, ${PRODUCERS} producers each`,
    value: median(three),
    unit: "entries/s",
    baseline: { what: "of one process that has the database to itself", value: median(one) },
    bar: { ratio: 0.9, sense: "at least" },
  };
}

export default {
  name: "ledger-postgres",
  title: "Durable entries of the ledger in PostgreSQL, beside raw inserts of the same rows by pg",
  async run({ scale }) {
    if (postgresFolder === undefined) return [];
    const server = await PostgresServer.start({ fsync: true });
    try {
      const [count, rounds] = scale === "quick" ? [6_000, 1] : [21_000, 3];
      return [await throughput(server, count, rounds), await nodes(server, count, rounds)];
    } finally {
      await server.stop();
    }
  },
} satisfies Bench;
