import type { KnownNode } from "./nodes.ts";
import type { TablesModule } from "./store.ts";

interface NodeRow extends Omit<KnownNode, "labels" | "isAlive" | "capacity"> {
  readonly labels: string;
  readonly alive: number;
  readonly capacity: number | null;
}

const LIST = `SELECT id, epoch, labels, capacity, owner <> '' AND expires > clock_timestamp() AS alive,
    floor(extract(epoch FROM since) * 1000)::bigint AS since,
    floor(extract(epoch FROM expires) * 1000)::bigint AS expires
  FROM store_nodes WHERE shared ORDER BY id`;

/** Reads what claims of the database leave there; in SQLite there are none. */
const module: TablesModule = {
  migrations: [],
  open(database) {
    const list = database.kind === "postgres" ? database.prepare<NodeRow>(LIST) : undefined;
    return { changes: {}, queries: { list: () => list?.all().map(nodeIn) ?? [] } };
  },
};

export default module;

function nodeIn({ labels, alive, capacity, ...row }: NodeRow): KnownNode {
  return {
    ...row,
    labels: JSON.parse(labels),
    isAlive: alive === 1,
    ...(capacity !== null && { capacity }),
  };
}
