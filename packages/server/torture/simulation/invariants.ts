import { hash } from "node:crypto";
import { blake3Hex, readCheckpoint } from "@reins/ledger";
import type { Lease, OpenTables } from "@reins/store";
import type { SimulatedServer } from "../../../store/test/simulated/server.ts";
import type { Outcome, Write } from "../../../store/test/simulated/store.ts";

/** A process, as far as its writes are judged. */
export interface Writer {
  readonly node: string;
  readonly claim: string;
  readonly epoch: number;
}

/** The tenant that a chain of the ledger belongs to, by the names that the simulation gives. */
export function tenantOf(entity: string): string | undefined {
  return /^(t\d+)\/s\d+$/.exec(entity)?.[1];
}

/** Judges every commit at the moment at which it is kept, and the whole ledger at the end. */
export class Invariants {
  readonly acknowledged = new Set<string>();
  readonly #server: SimulatedServer;
  readonly #used = new Map<string, number>();
  readonly #ended = new Map<string, string>();
  readonly #node;
  readonly #owner;
  readonly #lease;
  readonly #isAlive;
  /** The processes that serve a tenant, as far as they know. */
  readonly #serving = new Map<string, Set<Writer>>();
  commits = 0;

  constructor(server: SimulatedServer) {
    this.#server = server;
    const { database } = server;
    const prepare = <Row>(make: () => { get(...parameters: unknown[]): unknown }) => {
      let made: ReturnType<typeof make> | undefined;
      return (...parameters: unknown[]): Row | undefined => {
        made ??= make();
        return made.get(...parameters) as Row | undefined;
      };
    };
    this.#node = prepare<{ owner: string; epoch: number }>(() =>
      database.prepare("SELECT owner, epoch FROM store_nodes WHERE id = ?"),
    );
    this.#owner = prepare<{ node: string; claim: string }>(() =>
      database.prepare("SELECT node, claim FROM tenant_owners WHERE tenant = ?"),
    );
    this.#lease = prepare<{ owner: string; epoch: number }>(() =>
      database.prepare("SELECT owner, epoch FROM leases WHERE name = ?"),
    );
    this.#isAlive = prepare<{ alive: number }>(() =>
      database.prepare("SELECT 1 AS alive FROM store_nodes WHERE owner = ?"),
    );
  }

  /** After a batch of a process was applied. */
  applied(by: Writer, writes: readonly Write[], outcomes: readonly Outcome[]): void {
    const kept = writes.filter((_, index) => "results" in (outcomes[index] ?? {}));
    if (kept.length === 0) return;
    this.commits += kept.length;
    const row = this.#node(by.node);
    if (!row || row.owner !== by.claim || row.epoch !== by.epoch)
      this.#fail(
        "fenced",
        `${by.node} wrote under epoch ${by.epoch}, which has ended: ${JSON.stringify(row)}`,
      );
    for (const { changes } of kept)
      for (const { tables, name, args } of changes) this.#judge(by, `${tables}.${name}`, args);
  }

  #judge(by: Writer, what: string, args: unknown): void {
    switch (what) {
      case "leases.fence": {
        const { lease } = args as { lease: Lease };
        const held = this.#lease(lease.name);
        if (held?.epoch !== lease.epoch || held.owner !== lease.owner)
          this.#fail("fenced", `"${lease.name}" was used under epoch ${lease.epoch}, it has ${held?.epoch}`);
        return;
      }
      case "ledger.append": {
        const { entity_id } = args as { entity_id: string };
        const tenant = tenantOf(entity_id);
        if (tenant === undefined) return;
        const owner = this.#owner(tenant);
        if (owner?.node !== by.node || owner.claim !== by.claim)
          this.#fail("one owner", `${by.node} wrote for ${tenant}, which ${owner?.node} owns`);
        return;
      }
      case "limits.admit": {
        const { uses } = args as {
          uses: readonly { use: { limit: string; holder: string }; bound: { calls?: number } }[];
        };
        for (const { use, bound } of uses) {
          const key = `${use.limit} ${use.holder}`;
          const used = (this.#used.get(key) ?? 0) + 1;
          this.#used.set(key, used);
          if (used > (bound.calls ?? Number.POSITIVE_INFINITY))
            this.#fail("limits", `${used} calls of ${key} passed a limit of ${bound.calls}`);
        }
        return;
      }
      case "approvals.move":
      case "approvals.use": {
        const { id } = args as { id: string };
        const key = `${what} ${id}`;
        if (this.#ended.has(key))
          this.#fail("one answer", `${key}: by ${this.#ended.get(key)}, and by ${by.node}`);
        this.#ended.set(key, by.node);
        return;
      }
    }
  }

  /** A process begins to serve a tenant. */
  adopted(by: Writer, tenant: string): void {
    const serving = this.#serving.get(tenant) ?? new Set();
    this.#serving.set(tenant, serving.add(by));
    for (const other of serving) {
      if (other.claim === by.claim) continue;
      if (this.#isAlive(other.claim)) this.#fail("one owner", `${other.node} and ${by.node} serve ${tenant}`);
      serving.delete(other);
    }
  }

  released(by: Writer, tenant: string): void {
    const serving = this.#serving.get(tenant);
    for (const one of serving ?? []) if (one.claim === by.claim) serving?.delete(one);
  }

  /** How many tenants are served twice because one of the processes does not know yet that it is out. */
  get stale(): number {
    let many = 0;
    for (const serving of this.#serving.values()) if (serving.size > 1) many += 1;
    return many;
  }

  /** The ledger as a whole: nothing missing, each chain unbroken, each checkpoint of these entries. */
  ledger({ queries }: OpenTables): { readonly entries: number; readonly checkpoints: number } {
    const { database } = this.#server;
    const notes = database.prepare("SELECT size, note FROM ledger_checkpoints ORDER BY size").all() as {
      size: number;
      note: string;
    }[];
    const waiting = database.prepare("SELECT count(*) AS many FROM ledger_intake").get() as { many: number };
    if (waiting.many > 0) this.#fail("ledger", `${waiting.many} entries have no place`);
    const tree: Subtree[] = [];
    const ends = new Map<string, string>();
    const missing = new Set(this.acknowledged);
    let [size, checked] = [0, 0];
    for (;;) {
      const page = queries.range?.({ after: size - 1, limit: 1_000 }) as readonly StoredEntry[];
      for (const { seq, cid, body } of page) {
        if (seq !== size) this.#fail("ledger", `entry ${size} is missing, ${seq} follows`);
        if (blake3Hex(body) !== cid) this.#fail("ledger", `entry ${seq} is not what its content id says`);
        const { entity_id, quality, parents } = JSON.parse(body);
        const chain = quality === "turn" ? `${entity_id} turn` : entity_id;
        if (parents[0] !== ends.get(chain)) this.#fail("ledger", `entry ${seq} does not follow its chain`);
        ends.set(entity_id, cid);
        if (quality === "turn") ends.set(chain, cid);
        missing.delete(cid);
        grow(tree, cid);
        size += 1;
        for (; notes[checked]?.size === size; checked += 1)
          if (Buffer.compare(rootOf(tree), readCheckpoint(notes[checked]?.note ?? "").root) !== 0)
            this.#fail("ledger", `the checkpoint of ${size} entries is of other entries`);
      }
      if (page.length === 0) break;
    }
    if (missing.size > 0) this.#fail("no loss", `${missing.size} entries that were acknowledged are missing`);
    if (notes.at(-1)?.size !== size)
      this.#fail("ledger", `checkpoints cover ${notes.at(-1)?.size} of ${size}`);
    return { entries: size, checkpoints: notes.length };
  }

  #fail(rule: Rule, what: string): never {
    throw new Violation(rule, what);
  }
}

interface StoredEntry {
  readonly seq: number;
  readonly cid: string;
  readonly body: string;
}

/** A complete subtree. */
interface Subtree {
  readonly hash: Buffer;
  readonly level: number;
}

type Rule = "one owner" | "fenced" | "no loss" | "one answer" | "limits" | "ledger";

/** Something happened that must not. */
export class Violation extends Error {
  override readonly name = "Violation";
  readonly rule: Rule;

  constructor(rule: Rule, message: string) {
    super(`${rule}: ${message}`);
    this.rule = rule;
  }
}

/** Adds a leaf to a tree of RFC 6962, of which the roots of its complete subtrees are kept. */
function grow(tree: Subtree[], cid: string): void {
  let [current, level] = [sha256(Buffer.from(`00${cid}`, "hex")), 0];
  for (let last = tree.at(-1); last?.level === level; last = tree.at(-1)) {
    tree.pop();
    current = inner(last.hash, current);
    level += 1;
  }
  tree.push({ hash: current, level });
}

function rootOf(tree: readonly Subtree[]): Buffer {
  return tree.map((one) => one.hash).reduceRight((right, left) => inner(left, right));
}

function inner(left: Buffer, right: Buffer): Buffer {
  return sha256(Buffer.concat([Buffer.from([1]), left, right]));
}

function sha256(bytes: Buffer): Buffer {
  return hash("sha256", bytes, "buffer");
}
