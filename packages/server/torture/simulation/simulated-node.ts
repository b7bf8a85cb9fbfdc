import { generateKeyPairSync } from "node:crypto";
import { blake3Hex, Ledger } from "@reins/ledger";
import { nodeTables, type StoreNode, type TenantOwner } from "@reins/store";
import { Approvals, type ApprovalsOptions } from "@reins/supervisor";
import {
  type Modules,
  SimulatedStore,
  type SimulatedStoreOptions,
} from "../../../store/test/simulated/store.ts";
import { Membership } from "../../src/cluster/cluster.ts";
import { NodeUnreachable } from "../../src/cluster/node-link.ts";
import type { Invariants, Writer } from "./invariants.ts";
import type { ProcessClock, VirtualTime } from "./virtual-time.ts";

/** What all processes of a simulation share. */
export interface Cluster extends Pick<SimulatedStoreOptions, "server" | "tables" | "delay" | "isCredulous"> {
  readonly time: VirtualTime;
  readonly modules: Modules;
  readonly invariants: Invariants;
  readonly vault: ApprovalsOptions["vault"];
  readonly randomId: () => string;
  /** The processes that run or are stopped, by their claim. */
  readonly processes: Map<string, SimulatedNode>;
  /** Whether one node reaches another. */
  readonly isCut: (from: string, to: string) => boolean;
  readonly onViolation: (error: unknown) => void;
}

const [CONNECT_MS, MOST_HOPS] = [3_000, 3];

/** One process: the real claim, tables, ledger with its sequencer, approvals and membership, on simulated time. */
export class SimulatedNode implements Writer {
  readonly node: string;
  readonly claim: string;
  readonly clock: ProcessClock;
  readonly store: SimulatedStore;
  readonly ledger: Ledger;
  readonly approvals: Approvals;
  readonly membership: Membership;
  readonly #cluster: Cluster;
  readonly #tenants: ServedTenants;

  private constructor(cluster: Cluster, parts: Parts) {
    this.#cluster = cluster;
    this.node = parts.store.node.id;
    this.claim = parts.writer.claim;
    ({
      clock: this.clock,
      store: this.store,
      ledger: this.ledger,
      approvals: this.approvals,
      membership: this.membership,
      tenants: this.#tenants,
    } = parts);
    cluster.processes.set(this.claim, this);
  }

  /** Starts a process; rejects while its name is taken. The clock ends with it. */
  static async start(cluster: Cluster, node: StoreNode, clock: ProcessClock): Promise<SimulatedNode> {
    const { server, tables, modules, delay, time, invariants, vault, randomId, isCredulous } = cluster;
    const writer = { node: node.id, claim: "", epoch: 0 };
    const store: SimulatedStore = await SimulatedStore.open({
      ...{ server, tables, modules, node, clock, delay },
      ...(isCredulous && { isCredulous }),
      onApplied(writes, outcomes) {
        try {
          invariants.applied({ ...writer, epoch: store.epoch }, writes, outcomes);
        } catch (error) {
          cluster.onViolation(error);
        }
      },
      onBroken: () => time.add(0, () => end()),
    });
    const end = () => {
      clock.end();
      store.end();
      cluster.processes.delete(writer.claim);
    };
    try {
      const row = server.database.prepare("SELECT owner FROM store_nodes WHERE id = ?").get(node.id);
      writer.claim = String((row as { owner: string }).owner);
      const quiet = () => undefined;
      const ledger = await Ledger.open({
        ...{ store, signers: KEYS, clock, newOrigin: () => "reins/simulated" },
        onCheckpointError: quiet,
      });
      const approvals = new Approvals({
        ...{ store, ledger, vault, clock, randomId, onError: quiet },
        commitment: { digest: (purpose: string, text: string) => blake3Hex(`${purpose} ${text}`) },
      });
      const tenants = new ServedTenants(store, writer, cluster);
      const hub = { tenants, sessions: { all: tenants.sessions } };
      const membership = await Membership.open({
        ...{ hosting: { hub }, store, clock, address: node.id, version: "0", onError: quiet },
        link: { claims: [], drop: quiet },
      });
      if (!membership) throw new Error("it is no node");
      return new SimulatedNode(cluster, { writer, clock, store, ledger, approvals, membership, tenants });
    } catch (error) {
      end();
      throw error;
    }
  }

  get epoch(): number {
    return this.store.epoch;
  }

  /** Does something for a tenant where it is served, as `Cluster` passes requests on. */
  async serve<Result>(
    tenant: string,
    job: (at: SimulatedNode) => Promise<Result>,
    hops = 0,
  ): Promise<Result> {
    for (let isFirst = true; ; isFirst = false) {
      const owner = await this.membership.owner(tenant);
      if (!owner) return this.#tenants.during(tenant, () => job(this));
      if (hops === MOST_HOPS) throw new Error("too many nodes");
      try {
        return await this.#pass(owner, (to) => to.serve(tenant, job, hops + 1));
      } catch (error) {
        if (!(error instanceof NodeUnreachable)) throw error;
        await this.membership.lost(owner);
        if (!isFirst) throw error;
      }
    }
  }

  /** The process ends without a word, and its sessions with it, unless the database cannot notice that. */
  kill({ isNoticed = true } = {}): void {
    this.clock.end();
    this.store.connection.lose({ isNoticed });
    this.store.reading.lose();
    this.#cluster.processes.delete(this.claim);
  }

  #pass<Result>(owner: TenantOwner, ask: (to: SimulatedNode) => Promise<Result>): Promise<Result> {
    const { processes, isCut, delay } = this.#cluster;
    const to = processes.get(owner.claim);
    return new Promise((resolve, reject) => {
      const unreachable = () => reject(new NodeUnreachable(owner.node));
      if (!to || isCut(this.node, to.node)) return void this.clock.after(delay(), unreachable);
      let isBegun = false;
      // One that is stopped takes no connection.
      const cancel = this.clock.after(CONNECT_MS, () => {
        if (isBegun) return;
        isBegun = true;
        unreachable();
      });
      to.clock.after(delay(), () => {
        if (isBegun) return;
        isBegun = true;
        cancel();
        const back = (settle: () => void) => to.clock.after(0, () => this.clock.after(delay(), settle));
        ask(to).then(
          (result) => back(() => resolve(result)),
          (error: unknown) => back(() => reject(error)),
        );
      });
    });
  }
}

interface Parts extends Pick<SimulatedNode, "clock" | "store" | "ledger" | "approvals" | "membership"> {
  readonly writer: Writer;
  readonly tenants: ServedTenants;
}

/** The tenants that a process serves, with the sessions in them that are under way. */
class ServedTenants {
  readonly sessions: { length: number } = { length: 0 };
  readonly #store: SimulatedStore;
  readonly #writer: Writer;
  readonly #cluster: Cluster;
  readonly #adopting = new Map<string, Promise<void>>();
  readonly #served = new Set<string>();
  readonly #busy = new Map<string, number>();

  constructor(store: SimulatedStore, writer: Writer, cluster: Cluster) {
    this.#store = store;
    this.#writer = writer;
    this.#cluster = cluster;
  }

  get all(): readonly string[] {
    return [...this.#served];
  }

  serves(tenant: string): boolean {
    return this.#served.has(tenant);
  }

  isBusy(tenant: string): boolean {
    return this.#busy.has(tenant);
  }

  adopt(tenant: string): Promise<void> {
    const adopting =
      this.#adopting.get(tenant) ?? this.#adopt(tenant).finally(() => this.#adopting.delete(tenant));
    this.#adopting.set(tenant, adopting);
    return adopting;
  }

  async release(tenant: string): Promise<boolean> {
    if (this.isBusy(tenant)) return false;
    this.#served.delete(tenant);
    this.#cluster.invariants.released(this.#writer, tenant);
    return true;
  }

  /** Keeps a tenant busy. */
  async during<Result>(tenant: string, job: () => Promise<Result>): Promise<Result> {
    this.#busy.set(tenant, (this.#busy.get(tenant) ?? 0) + 1);
    try {
      return await job();
    } finally {
      const left = (this.#busy.get(tenant) ?? 1) - 1;
      if (left === 0) this.#busy.delete(tenant);
      else this.#busy.set(tenant, left);
    }
  }

  /** What a restart does: reads what is there. */
  async #adopt(tenant: string): Promise<void> {
    await this.#store.query(nodeTables, "owned", { node: this.#writer.node, claim: this.#writer.claim });
    this.#served.add(tenant);
    try {
      this.#cluster.invariants.adopted(this.#writer, tenant);
    } catch (error) {
      this.#cluster.onViolation(error);
    }
  }
}

/** The same keys on every node. */
const KEYS = (() => {
  const known = new Map<string, ReturnType<typeof keyOf>>();
  const signer = async (holder: string) => {
    const key = known.get(holder) ?? keyOf();
    known.set(holder, key);
    return key;
  };
  return {
    signer,
    logSigner: () => signer("log"),
    rotate: () => Promise.reject(new Error("keys stay")),
    retired: async () => [],
  };
})();

function keyOf() {
  const { privateKey, publicKey } = generateKeyPairSync("ed25519");
  const bytes = Buffer.from(publicKey.export({ format: "jwk" }).x ?? "", "base64url");
  return { keyId: blake3Hex(bytes).slice(0, 16), publicKey: new Uint8Array(bytes), privateKey };
}
