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

export default {
  name: "ledger-postgres",
  title: "Durable entries of the ledger in PostgreSQL, beside raw inserts of the same rows by pg",
  async run({ scale }) {
    if (postgresFolder === undefined) return [];
    const server = await PostgresServer.start({ fsync: true });
    try {
      return [await throughput(server, scale === "quick" ? 5_000 : 20_000, scale === "quick" ? 1 : 3)];
    } finally {
      await server.stop();
    }
  },
} satisfies Bench;
