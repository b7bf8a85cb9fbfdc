import { ledgerTables } from "@reins/ledger";
import { change, nodeTables, openPostgres, readPostgresAddress, type Store } from "@reins/store";
import type { Bench, BenchRow } from "../../../scripts/bench/bench.ts";
import { PostgresServer, postgresFolder } from "../../store/test/postgres-server.ts";

const SIZES = { quick: { rounds: 100, nodes: 100 }, full: { rounds: 1_000, nodes: 1_000 } };
/** How many processes ask the database at once. */
const CLIENTS = 16;

type Client = Awaited<ReturnType<PostgresServer["connect"]>>;

/** How often a second the database answers, asked by several at once. */
async function perSecond(
  count: number,
  ask: (index: number, client: number) => Promise<unknown>,
): Promise<number> {
  let next = 0;
  const start = performance.now();
  const go = async (_: unknown, client: number) => {
    for (let index = next++; index < count; index = next++) await ask(index, client);
  };
  await Promise.all(Array.from({ length: CLIENTS }, go));
  return count / ((performance.now() - start) / 1_000);
}

/** Nodes that are there for the others to see, and do nothing. */
async function addNodes(client: Client, schema: string, count: number): Promise<void> {
  const state = JSON.stringify({ address: "127.0.0.1:1", version: "1", sessions: 3, agents: ["native"] });
  await client.query(`INSERT INTO ${schema}.store_nodes
      SELECT 'n' || i, 'claim ' || i, 1000 + i, true, 0, now(), now() + interval '1 hour', '{"zone":"a"}', 100
      FROM generate_series(1, ${count}) i`);
  await client.query(
    `INSERT INTO ${schema}.node_states SELECT 'n' || i, 'claim ' || i, 0, $1 FROM generate_series(1, ${count}) i`,
    [state],
  );
  await client.query(`ANALYZE ${schema}.store_nodes; ANALYZE ${schema}.node_states`);
}

async function measured(
  server: PostgresServer,
  store: Store,
  schema: string,
  size: Size,
): Promise<BenchRow[]> {
  const { rounds, nodes } = size;
  const clients = await Promise.all(Array.from({ length: CLIENTS }, () => server.connect()));
  const [first] = clients;
  if (!first) return [];
  await first.query(`CREATE TABLE ${schema}.bare (id integer PRIMARY KEY, many integer)`);
  await first.query(`INSERT INTO ${schema}.bare SELECT i, 0 FROM generate_series(0, ${CLIENTS}) i`);
  const by = (client: number) => clients[client] ?? first;
  const bare = await perSecond(rounds * 4, (_, client) =>
    by(client).query(`UPDATE ${schema}.bare SET many = many + 1 WHERE id = ${client}`),
  );
  await addNodes(first, schema, nodes);
  const baseline = { what: "commits of one row by pg, as many at once", value: bare };
  const beats = await perSecond(rounds * 4, (index, client) =>
    by(client).query(
      `UPDATE ${schema}.store_nodes SET expires = clock_timestamp() + interval '1 hour' WHERE id = 'n${1 + (index % nodes)}'`,
    ),
  );
  const looks = await perSecond(rounds * 4, () => store.query(ledgerTables, "progress", null));
  const owners = await perSecond(rounds, () => store.query(nodeTables, "owner", { tenant: "t1" }));
  const last = { node: "own", claim: "", epoch: 1_000 + nodes };
  const changes = await perSecond(rounds, () => store.query(nodeTables, "since", last));
  const lists = await perSecond(rounds, () => store.query(nodeTables, "list", null));
  const taken = await perSecond(rounds, (index) =>
    store.commit([change(nodeTables, "own", { tenant: `t${index}` })]),
  );
  await Promise.all(clients.map((client) => client.end()));
  return [
    { what: "heartbeats", value: beats, unit: "a second", baseline },
    { what: "looks of sequencers", value: looks, unit: "a second" },
    { what: "looks for the owner of a tenant", value: owners, unit: "a second" },
    { what: `looks at ${nodes} nodes`, value: changes, unit: "a second" },
    { what: `lists of ${nodes} nodes`, value: lists, unit: "a second" },
    { what: `takeovers of tenants among ${nodes} nodes`, value: taken, unit: "a second" },
  ];
}

type Size = (typeof SIZES)["full"];

export default {
  name: "nodes",
  title: "What nodes ask of PostgreSQL, beside commits of one row",
  async run({ scale }) {
    if (postgresFolder === undefined) return [];
    const server = await PostgresServer.start({ fsync: true });
    const schema = "nodes_bench";
    const address = readPostgresAddress(server.address(schema));
    const tables = [nodeTables, ledgerTables];
    const store = await openPostgres({ address, tables, node: { id: "own", labels: {} } });
    try {
      return await measured(server, store, schema, SIZES[scale]);
    } finally {
      await store.close();
      await server.stop();
    }
  },
} satisfies Bench;
