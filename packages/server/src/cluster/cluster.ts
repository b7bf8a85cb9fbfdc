import type { IncomingMessage, ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { type Hosting, sessionTables } from "@reins/host";
import { type Clock, errorMessage, Repeater, systemClock } from "@reins/kit";
import { change, nodeTables, type Peer, type Store, type TenantOwner } from "@reins/store";
import { DEFAULT_TENANT, type Harness, LOCAL } from "@reins/supervisor";
import { type Caller, required } from "../access/authenticator.ts";
import { HttpProblem } from "../problems.ts";
import { type NodeLink, NodeUnreachable } from "./node-link.ts";

/** What a node is for the others. */
export interface MembershipOptions {
  readonly hosting: { readonly hub: ServedTenants };
  readonly store: Store;
  readonly link: Pick<NodeLink, "claims" | "drop">;
  /** Where the other nodes reach this one, as host:port. */
  readonly address: string;
  readonly version: string;
  /** The name of the key with which this one seals: the same for all, where it is given. */
  readonly vaultKey?: string | undefined;
  /** The agents that are installed here. */
  readonly agents?: (() => Promise<readonly string[]>) | undefined;
  /** The labels that the node of a tenant needs. */
  readonly labelsFor?: ((tenant: string) => Readonly<Record<string, string>> | undefined) | undefined;
  readonly onError: (error: unknown) => void;
  readonly clock?: Clock;
}

/** The part of the hub that knows which tenants are served here. */
interface ServedTenants {
  readonly tenants: Pick<Hosting["hub"]["tenants"], "serves" | "adopt" | "all" | "isBusy" | "release">;
  readonly sessions: { readonly all: { readonly length: number } };
}

/** How often a node looks at the others, and tells them of itself. */
const LOOK_MS = 1_000;
/** How long the database may take to say which nodes there are, where an older answer does too. */
const ASKED_MS = 2_000;
/** How long a tenant whose turns go on is left alone before it is looked at again, while the node drains. */
const BUSY_MS = 200;

/**
 * One node among others, for as long as its store is open: it tells them of itself, knows who owns which tenant, takes
 * tenants over whose owner is gone, and hands its own over when it drains.
 */
export class Membership {
  readonly id: string;
  readonly #claim: string;
  readonly #options: MembershipOptions;
  /** The owners of other tenants, as far as they are known. */
  readonly #owners = new Map<string, TenantOwner>();
  /** Tenants that are being handed over. */
  readonly #leaving = new Map<string, Promise<void>>();
  readonly #unwatch: (() => void) | undefined;
  readonly #clock: Clock;
  readonly #repeater: Repeater;
  /** The nodes that serve, by name, as they were when this one last looked. */
  readonly #peers = new Map<string, Peer>();
  /** Of what epoch that was. */
  #epoch = 0;
  #told = "";
  #draining: Promise<void> | undefined;
  #isDraining = false;
  #closed = false;

  private constructor(options: MembershipOptions, id: string, claim: string) {
    this.id = id;
    this.#claim = claim;
    this.#options = options;
    this.#unwatch = options.store.watch?.(nodeTables, () => this.#owners.clear());
    this.#clock = options.clock ?? systemClock;
    this.#repeater = new Repeater(this.#clock, LOOK_MS, () => this.#look(), options.onError);
  }

  /** Joins the nodes of a database; undefined where the process has it to itself. */
  static async open(options: MembershipOptions): Promise<Membership | undefined> {
    const { node } = options.store;
    if (!node) return undefined;
    const known = await options.store.query(nodeTables, "list", null);
    const claim = known.find(({ id }) => id === node.id)?.claim;
    if (!claim) throw new Error(`the claim of the node ${node.id} has ended`);
    const { vaultKey } = options;
    const others = known.filter(({ id, isAlive, state }) => id !== node.id && isAlive && state?.vaultKey);
    const differing =
      vaultKey === undefined ? undefined : others.find(({ state }) => state?.vaultKey !== vaultKey);
    if (differing)
      throw new Error(
        `keys/vault.key is not that of the node ${differing.id}, so that neither could open what the other seals; copy keys/ of one node to all`,
      );
    const membership = new Membership(options, node.id, claim);
    await membership.#look();
    return membership;
  }

  /** The other nodes that serve, as far as it was known before where the database does not answer in a while. */
  async others(): Promise<readonly Peer[]> {
    await Promise.race([this.#follow().catch(() => undefined), this.#pause(ASKED_MS)]);
    return [...this.#peers.values()].filter(({ node }) => node !== this.id);
  }

  /** The node that serves a tenant; undefined where that is this one, which then has recovered its sessions. */
  owner(tenant: string): undefined | Promise<TenantOwner | undefined> {
    const leaving = this.#leaving.get(tenant);
    if (leaving) return leaving.then(() => this.#find(tenant));
    return this.#options.hosting.hub.tenants.serves(tenant) ? undefined : this.#find(tenant);
  }

  /** Notes that an owner cannot be reached; its claim ends at once if its process has ended. */
  async lost({ tenant, node, claim }: TenantOwner): Promise<void> {
    this.#owners.delete(tenant);
    await this.#options.store.commit([change(nodeTables, "end", { node, claim })]);
  }

  /** Has a node drain, or take over tenants again; returns whether there is such a node. */
  async drain(node: string, isDraining: boolean): Promise<boolean> {
    const [isThere] = await this.#options.store.commit([change(nodeTables, "drain", { node, isDraining })]);
    return isThere;
  }

  close(): void {
    this.#closed = true;
    this.#repeater.stop();
    this.#unwatch?.();
  }

  async #find(tenant: string): Promise<TenantOwner | undefined> {
    const { store, hosting } = this.#options;
    const known = this.#owners.get(tenant);
    if (known && this.#peers.get(known.node)?.claim === known.claim) return known;
    const owner = (await store.query(nodeTables, "owner", { tenant })) ?? (await this.#own(tenant));
    if (!owner)
      throw new HttpProblem("unavailable", "no node takes this over; reins node list shows them", {
        headers: { "retry-after": "2" },
      });
    if (owner.node === this.id && owner.claim === this.#claim) {
      await hosting.hub.tenants.adopt(tenant);
      return undefined;
    }
    this.#owners.set(tenant, owner);
    return owner;
  }

  /** Has the least busy node take a tenant over that none serves. */
  async #own(tenant: string): Promise<TenantOwner | undefined> {
    const { store, labelsFor } = this.#options;
    const labels = labelsFor?.(tenant);
    const agents = await store.query(sessionTables, "agents", { tenant });
    const wanted = { tenant, agents, ...(labels && { labels }) };
    const [owner] = await store.commit([change(nodeTables, "own", wanted)]);
    return owner;
  }

  /** Looks at the others, and tells them what has changed here. */
  async #look(): Promise<void> {
    const { store, link, hosting, address, version, vaultKey, agents } = this.#options;
    const sessions = hosting.hub.sessions.all.length;
    const state = { address, version, vaultKey, sessions, agents: (await agents?.()) ?? [] };
    const text = JSON.stringify(state);
    if (text !== this.#told)
      await store.commit([change(nodeTables, "tell", { node: this.id, claim: this.#claim, state })]);
    this.#told = text;
    const underWay = link.claims;
    await this.#follow();
    const alive = new Set([...this.#peers.values()].map(({ claim }) => claim));
    for (const claim of underWay) if (!alive.has(claim)) link.drop(claim);
    if (this.#isDraining)
      this.#draining ??= this.#handOver().finally(() => {
        this.#draining = undefined;
      });
  }

  /** Notes which nodes began and ended since it did so last, and whether this one is to drain. */
  async #follow(): Promise<void> {
    const last = { node: this.id, claim: this.#claim, epoch: this.#epoch };
    const { epoch, joined, ended, isDraining } = await this.#options.store.query(nodeTables, "since", last);
    // Two looks at the same time may end in either order.
    if (epoch < this.#epoch) return;
    for (const peer of joined) this.#peers.set(peer.node, peer);
    for (const node of ended) this.#peers.delete(node);
    this.#epoch = epoch;
    this.#isDraining = isDraining;
  }

  /** Hands over one tenant after the other, each once nothing of it is under way. */
  async #handOver(): Promise<void> {
    const { hub } = this.#options.hosting;
    while (this.#isDraining && !this.#closed && hub.tenants.all.length > 0) {
      for (const tenant of hub.tenants.all) {
        if (hub.tenants.isBusy(tenant)) continue;
        const leaving = this.#leave(tenant).finally(() => this.#leaving.delete(tenant));
        this.#leaving.set(
          tenant,
          leaving.catch(() => undefined),
        );
        await leaving.catch(this.#options.onError);
      }
      await this.#pause(BUSY_MS);
    }
  }

  #pause(milliseconds: number): Promise<void> {
    return new Promise((resolve) => void this.#clock.after(milliseconds, resolve));
  }

  async #leave(tenant: string): Promise<void> {
    const { hosting, store } = this.#options;
    if (!(await hosting.hub.tenants.release(tenant))) return;
    await store.commit([change(nodeTables, "disown", { tenant, node: this.id, claim: this.#claim })]);
  }
}

/** A request that another node may serve. */
export interface TenantRequest {
  readonly request: IncomingMessage;
  /** Absent where the node that serves it finds out. */
  readonly caller?: Caller | undefined;
  /** Whether it is about logins, which the node of the operator's tenant has. */
  readonly ofLogins?: boolean | undefined;
}

export interface ClusterOptions {
  readonly link: NodeLink;
  readonly harness: () => Promise<Harness>;
  /** The node, once the home is open. */
  readonly membership: () => Promise<Membership | undefined>;
}

/** Passes requests on to the nodes that serve their tenants. */
export class Cluster {
  readonly link: NodeLink;
  readonly membership: ClusterOptions["membership"];
  readonly #options: ClusterOptions;
  /** What is answered here, by tenant. */
  readonly #open = new Map<string, Set<{ destroy(): unknown }>>();

  constructor(options: ClusterOptions) {
    this.#options = options;
    this.link = options.link;
    this.membership = options.membership;
  }

  /** Passes a request on if another node serves it; returns whether it did. */
  forward(request: TenantRequest, response: ServerResponse): Promise<boolean> {
    return this.#passOn(request, response, (owner) => this.link.forward(owner, request, response));
  }

  /** The same with an upgrade. */
  upgrade(request: TenantRequest, socket: Duplex, head: Buffer): Promise<boolean> {
    return this.#passOn(request, socket, (owner) => this.link.upgrade(owner, request, socket, head));
  }

  /** Asks every other node that serves; one that does not answer gives its error. */
  async askOthers(
    path: string,
    body: unknown,
    caller: Caller,
  ): Promise<readonly { readonly node: string; readonly status: number; readonly body: unknown }[]> {
    const membership = await required(this.membership);
    const others = (await membership?.others()) ?? [];
    return Promise.all(
      others.map(async ({ node, address }) => {
        const answer = await this.link
          .ask({ address }, { path, body, caller })
          .catch((error: unknown) => ({ status: 502, body: errorMessage(error) }));
        return { node, ...answer };
      }),
    );
  }

  /** Ends what is still open of a tenant that is served here no more. */
  release(tenant: string): void {
    for (const one of this.#open.get(tenant) ?? []) one.destroy();
  }

  async #passOn(
    { caller, ofLogins }: TenantRequest,
    end: Duplex | ServerResponse,
    pass: (owner: TenantOwner) => Promise<void>,
  ): Promise<boolean> {
    const membership = await required(this.membership);
    if (!membership) return false;
    const tenant = ofLogins ? DEFAULT_TENANT : await this.#tenantOf(caller);
    for (let isFirst = true; ; isFirst = false) {
      const owner = await membership.owner(tenant);
      if (!owner) {
        this.#note(tenant, end);
        return false;
      }
      try {
        await pass(owner);
        return true;
      } catch (error) {
        if (!(error instanceof NodeUnreachable)) throw error;
        await membership.lost(owner);
        if (!isFirst)
          throw new HttpProblem("unavailable", "the node that serves this cannot be reached; try again", {
            headers: { "retry-after": "2" },
            cause: error,
          });
      }
    }
  }

  async #tenantOf(caller: Caller | undefined): Promise<string> {
    if (!caller || caller.id === LOCAL) return DEFAULT_TENANT;
    if (caller.tenant !== undefined) return caller.tenant;
    const { identity } = await required(this.#options.harness);
    return (await identity.current(caller))?.tenant ?? DEFAULT_TENANT;
  }

  #note(tenant: string, end: Duplex | ServerResponse): void {
    const open = this.#open.get(tenant) ?? new Set();
    this.#open.set(tenant, open.add(end));
    end.once("close", () => {
      open.delete(end);
      if (open.size === 0 && this.#open.get(tenant) === open) this.#open.delete(tenant);
    });
  }
}
