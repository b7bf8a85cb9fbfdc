import type { KnownNode, NodeState, NodesSince, Peer, TenantOwner } from "./nodes.ts";
import type { Database, OpenTables, Statement, TablesModule } from "./store.ts";

interface NodeRow extends Pick<KnownNode, "id" | "epoch" | "claim" | "since" | "expires" | "tenants"> {
  readonly labels: string;
  readonly alive: number;
  readonly capacity: number | null;
  readonly body: string | null;
  readonly draining: number | null;
}

const LIST = `SELECT n.id, n.epoch, n.owner AS claim, n.labels, n.capacity, s.body, s.draining,
    n.owner <> '' AND n.expires > clock_timestamp() AS alive,
    floor(extract(epoch FROM n.since) * 1000)::bigint AS since,
    floor(extract(epoch FROM n.expires) * 1000)::bigint AS expires,
    (SELECT count(*) FROM tenant_owners o WHERE o.node = n.id AND o.claim = n.owner) AS tenants
  FROM store_nodes n LEFT JOIN node_states s ON s.node = n.id AND s.claim = n.owner
  WHERE n.shared ORDER BY n.id`;

const JOINED = `SELECT n.id AS node, n.epoch, n.owner AS claim, s.body
  FROM store_nodes n LEFT JOIN node_states s ON s.node = n.id AND s.claim = n.owner
  WHERE n.epoch > ? AND n.owner <> '' AND n.shared ORDER BY n.epoch`;

/** How busy a node is for its capacity, in millionths, by its sessions and tenants. */
const WEIGH = `UPDATE node_states SET load = 1000000 * (sessions + (SELECT count(*) FROM tenant_owners o
    WHERE o.node = node_states.node AND o.claim = node_states.claim)) / (SELECT
      CASE WHEN n.capacity IS NULL THEN 1000 WHEN n.capacity < 1 THEN 1 ELSE n.capacity END
      FROM store_nodes n WHERE n.id = node_states.node)
  WHERE node = ?`;

/** Nodes that may take a tenant over, the least busy first. */
const CANDIDATES = `SELECT n.id, n.owner AS claim, n.labels, s.body, s.load
  FROM node_states s JOIN store_nodes n ON n.id = s.node AND n.owner = s.claim
  WHERE s.draining = 0 AND n.shared AND n.expires > clock_timestamp()
    AND (s.load > @load OR (s.load = @load AND s.node > @id))
  ORDER BY s.load, s.node LIMIT 16`;

/** A claim that was not ended counts, also when it has run out: the other nodes end it, and only then is it over. */
const OWNER = `SELECT o.tenant, o.node, o.claim, s.body FROM tenant_owners o
  JOIN store_nodes n ON n.id = o.node AND n.owner = o.claim
  JOIN node_states s ON s.node = o.node AND s.claim = o.claim
  WHERE o.tenant = ?`;

/** Two databases of one server share no locks, two schemas of a database do. A session holds the lock of its epoch. */
const END = `UPDATE store_nodes SET owner = '' WHERE id = ? AND owner = ?
  AND pg_try_advisory_xact_lock(hashtext('reins ' || current_schema()), epoch::integer)`;

/** Reads what claims of the database leave there, and keeps who owns which tenant; in SQLite there are none. */
const module: TablesModule = {
  migrations: [
    `CREATE TABLE node_states (
       node TEXT PRIMARY KEY, claim TEXT NOT NULL, draining INTEGER NOT NULL, body TEXT NOT NULL
     ) STRICT;
     CREATE TABLE tenant_owners (tenant TEXT PRIMARY KEY, node TEXT NOT NULL, claim TEXT NOT NULL) STRICT;
     CREATE INDEX tenant_owners_by_node ON tenant_owners (node, claim)`,
    `ALTER TABLE node_states ADD COLUMN sessions INTEGER NOT NULL DEFAULT 0;
     ALTER TABLE node_states ADD COLUMN load INTEGER NOT NULL DEFAULT 0;
     CREATE INDEX node_states_by_load ON node_states (load, node)`,
  ],
  // What else changes here shows in the claims, at which each node looks, or by an owner that cannot be reached.
  announces: ["disown"],
  open: (database) => (database.kind === "postgres" ? openShared(database) : ALONE),
};

export default module;

/** One process has the database; it is no node. */
const ALONE: OpenTables = {
  changes: {
    tell: () => false,
    own: () => undefined,
    disown: () => undefined,
    drain: () => false,
    end: () => false,
  },
  queries: {
    list: () => [],
    since: ({ epoch }: { epoch: number }) => ({ epoch, joined: [], ended: [], isDraining: false }),
    owner: () => undefined,
    owned: () => [],
  },
};

function openShared(database: Database): OpenTables {
  const list = database.prepare<NodeRow>(LIST);
  const tell = database.prepare<{ readonly draining: number }>(
    `INSERT INTO node_states (node, claim, draining, body, sessions) VALUES (?, ?, 0, ?, ?)
     ON CONFLICT (node) DO UPDATE SET claim = excluded.claim, body = excluded.body, sessions = excluded.sessions,
       draining = CASE WHEN node_states.claim = excluded.claim THEN node_states.draining ELSE 0 END
     RETURNING draining`,
  );
  const weigh = database.prepare(WEIGH);
  const candidates = database.prepare<Candidate>(CANDIDATES);
  const owner = database.prepare<{ tenant: string; node: string; claim: string; body: string }>(OWNER);
  const own = database.prepare(
    `INSERT INTO tenant_owners (tenant, node, claim) VALUES (?, ?, ?)
     ON CONFLICT (tenant) DO UPDATE SET node = excluded.node, claim = excluded.claim`,
  );
  const disown = database.prepare("DELETE FROM tenant_owners WHERE tenant = ? AND node = ? AND claim = ?");
  const drain = database.prepare(
    `UPDATE node_states SET draining = ? WHERE node = ?
     AND claim = (SELECT n.owner FROM store_nodes n WHERE n.id = node_states.node AND n.owner <> '')`,
  );
  const end = database.prepare(END);
  const owned = database.prepare<{ readonly tenant: string }>(
    "SELECT tenant FROM tenant_owners WHERE node = ? AND claim = ? ORDER BY tenant",
  );
  const joined = database.prepare<Omit<Peer, "address"> & { readonly body: string | null }>(JOINED);
  const ended = database.prepare<{ readonly id: string }>("SELECT id FROM store_nodes WHERE owner = ''");
  const draining = database.prepare<{ readonly draining: number }>(
    "SELECT draining FROM node_states WHERE node = ? AND claim = ?",
  );
  const nodes = () => list.all().map(nodeIn);
  const since = ({ node, claim, epoch }: { node: string; claim: string; epoch: number }): NodesSince => {
    const rows = joined.all(epoch);
    // One that has not told of itself yet is looked at again.
    const first = rows.find(({ body }) => body === null);
    return {
      epoch: first ? first.epoch - 1 : (rows.at(-1)?.epoch ?? epoch),
      joined: rows.flatMap(({ body, ...row }) =>
        body === null ? [] : [{ ...row, address: JSON.parse(body).address }],
      ),
      ended: ended.all().map(({ id }) => id),
      isDraining: draining.get(node, claim)?.draining === 1,
    };
  };
  const ownerOf = ({ tenant }: { tenant: string }): TenantOwner | undefined => {
    const row = owner.get(tenant);
    return row && { tenant, node: row.node, claim: row.claim, address: JSON.parse(row.body).address };
  };
  return {
    changes: {
      tell({ node, claim, state }: { node: string; claim: string; state: NodeState }): boolean {
        const told = tell.get(node, claim, JSON.stringify(state), state.sessions);
        weigh.run(node);
        return told?.draining === 1;
      },
      own({
        tenant,
        labels = {},
        agents = [],
      }: {
        tenant: string;
        labels?: Record<string, string>;
        agents?: readonly string[];
      }): TenantOwner | undefined {
        const known = ownerOf({ tenant });
        if (known) return known;
        const chosen = chosenOf(candidates, labels, agents);
        if (!chosen) return undefined;
        own.run(tenant, chosen.id, chosen.claim);
        weigh.run(chosen.id);
        return { tenant, node: chosen.id, claim: chosen.claim, address: JSON.parse(chosen.body).address };
      },
      disown({ tenant, node, claim }: TenantOwner): void {
        disown.run(tenant, node, claim);
        weigh.run(node);
      },
      drain: ({ node, isDraining }: { node: string; isDraining: boolean }) =>
        drain.run(isDraining ? 1 : 0, node).changes > 0,
      end: ({ node, claim }: { node: string; claim: string }) => end.run(node, claim).changes > 0,
    },
    queries: {
      list: nodes,
      since,
      owner: ownerOf,
      owned: ({ node, claim }: { node: string; claim: string }) =>
        owned.all(node, claim).map(({ tenant }) => tenant),
    },
  };
}

interface Candidate extends Pick<NodeRow, "id" | "claim" | "labels"> {
  readonly body: string;
  readonly load: number;
}

/**
 * The node that takes over a tenant: with most of its agents, and of those the least busy. One that has all of them ends
 * the search.
 */
function chosenOf(
  candidates: Statement<Candidate>,
  labels: Readonly<Record<string, string>>,
  agents: readonly string[],
): Candidate | undefined {
  let best: { readonly node: Candidate; readonly has: number } | undefined;
  let last: Pick<Candidate, "load" | "id"> | undefined = { load: -1, id: "" };
  while (last) {
    const page: Candidate[] = candidates.all({ load: last.load, id: last.id });
    for (const node of page) {
      if (!hasLabels(node, labels)) continue;
      const installed: readonly string[] = agents.length > 0 ? JSON.parse(node.body).agents : [];
      const has = agents.filter((agent) => installed.includes(agent)).length;
      if (has === agents.length) return node;
      if (!best || has > best.has) best = { node, has };
    }
    last = page.at(-1);
  }
  return best?.node;
}

function hasLabels(node: Candidate, wanted: Readonly<Record<string, string>>): boolean {
  const given = Object.entries(wanted);
  if (given.length === 0) return true;
  const labels: Readonly<Record<string, string>> = JSON.parse(node.labels);
  return given.every(([name, value]) => labels[name] === value);
}

function nodeIn({ labels, alive, capacity, body, draining, ...row }: NodeRow): KnownNode {
  return {
    ...row,
    labels: JSON.parse(labels),
    isAlive: alive === 1,
    ...(capacity !== null && { capacity }),
    ...(body !== null && { state: { ...JSON.parse(body), isDraining: draining === 1 } }),
  };
}
