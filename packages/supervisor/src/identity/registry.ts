import { randomBytes } from "node:crypto";
import { type Clock, errorMessage, systemClock } from "@reins/kit";
import type { Draft, Ledger } from "@reins/ledger";
import { type Change, StoreError, type StoreReader } from "@reins/store";
import { SupervisorError } from "../errors.ts";
import { type Redact, redact } from "../redaction/redactor.ts";
import { asChildSession, type ChildSession, type StoredChild } from "./delegation.ts";
import { isSameHash, type RandomBytes, SecretHash } from "./names.ts";
import {
  actorOf,
  covers,
  DEFAULT_TENANT,
  intersect,
  isAdmin,
  isOperator,
  LOCAL,
  OPERATOR,
  type Principal,
} from "./principal.ts";
import { type Delta, type IdentityQueries, identityTables } from "./tables/tables.ts";
import type { StoredToken } from "./tokens.ts";
import type { StoredUser } from "./users.ts";

/** A change of identity, for the record. Never with a secret, a hash of one, or more about a person than an id. */
export interface IdentityChange {
  readonly change:
    | "user_added"
    | "user_changed"
    | "user_removed"
    | "user_admitted"
    | "tenant_removed"
    | "token_created"
    | "token_revoked"
    | "session_delegated"
    | "session_revoked";
  readonly tenant: string;
  /** The user, token, session or tenant it is about. */
  readonly target: string;
  /** What it says besides. Plain JSON. */
  readonly details?: Readonly<Record<string, unknown>>;
  /** The session that brought it about. */
  readonly source?: string;
}

/** The entry of a change of identity, signed by its author. */
function identityDraft(by: Principal, { change, tenant, target, details, source }: IdentityChange): Draft {
  const { id, kind, user, tenant: home, started } = by;
  return {
    quality: "policy_change",
    actor: actorOf(by),
    target,
    tags: ["identity", `tenant:${tenant}`],
    ...(source !== undefined && { source }),
    payload: { change, tenant, ...details, by: { principal: id, kind, user, tenant: home, started } },
  };
}

export interface RegistryOptions {
  readonly store: Pick<StoreReader, "query">;
  readonly ledger: Pick<Ledger, "record">;
  readonly clock?: Clock | undefined;
  readonly randomBytes?: RandomBytes | undefined;
  /** After how many milliseconds at most a change made by another process counts here; by default 50. */
  readonly staleAfter?: number | undefined;
  /** The issuers, with their settings, whose users are valid here; by default none. */
  readonly origins?: readonly string[] | undefined;
  /** Removes secrets from what is stored; by default those of known formats. */
  readonly redact?: Redact | undefined;
}

const STALE_AFTER = 50;

/** Keeps the directory up to date with the store, and commits every change with its entry in the ledger. */
export class Registry {
  readonly directory: Directory;
  readonly hash: SecretHash;
  readonly randomBytes: RandomBytes;
  readonly redact: Redact;
  readonly #options: RegistryOptions;
  readonly #clock: Clock;
  #checked = Number.NEGATIVE_INFINITY;
  #checking: Promise<void> | undefined;
  /** The last time that was read, as a number and as text: each decision asks several times. */
  #read = { at: Number.NaN, text: "" };
  readonly #watchers = new Set<() => void>();

  private constructor(options: RegistryOptions, hash: SecretHash) {
    this.#options = options;
    this.directory = new Directory(options.origins);
    this.#clock = options.clock ?? systemClock;
    this.randomBytes = options.randomBytes ?? randomBytes;
    this.redact = options.redact ?? redact;
    this.hash = hash;
  }

  /** Reads what is in the store. */
  static async open(options: RegistryOptions): Promise<Registry> {
    const key = await options.store.query(identityTables, "hashKey", null);
    const registry = new Registry(options, new SecretHash(key));
    await registry.fresh();
    return registry;
  }

  /** The time now, RFC 3339. */
  now(): string {
    const now = this.#clock.now();
    const at = now.getTime();
    if (at !== this.#read.at) this.#read = { at, text: now.toISOString() };
    return this.#read.text;
  }

  /** Refreshes a directory that is too old. Rejects when that is not possible. */
  async fresh(): Promise<void> {
    const since = this.#clock.now().getTime() - this.#checked;
    if (since >= 0 && since < (this.#options.staleAfter ?? STALE_AFTER)) return;
    await this.#joinCheck();
  }

  /** Finds in a directory that is fresh; what is missing there may have been added since by another process. */
  async find<Value>(look: () => Value | undefined): Promise<Value | undefined> {
    await this.fresh();
    const found = look();
    if (found !== undefined) return found;
    // One that is under way may have asked before.
    await this.#checking;
    await this.#joinCheck();
    return look();
  }

  /** The principal of an id as it is now, for connections that outlive one decision; `undefined` if it may no more. */
  async current({ id }: Pick<Principal, "id">): Promise<Principal | undefined> {
    return this.find(() => this.directory.principal(id, this.now()));
  }

  /** A principal as it is now; `forbidden` if it is no more. */
  async live(principal: Principal): Promise<Principal> {
    return (await this.current(principal)) ?? this.liveAtOnce(principal);
  }

  /** A principal as it is now, if it may change or list identity; else `forbidden`. */
  async admin(principal: Principal): Promise<Principal> {
    const by = await this.live(principal);
    expectAdmin(by);
    return by;
  }

  /** {@link live} from what is known here already. */
  liveAtOnce({ id }: Pick<Principal, "id">): Principal {
    const live = this.directory.principal(id, this.now());
    if (live) return live;
    throw new SupervisorError("forbidden", `the token "${id}" was revoked, has expired or does not exist`);
  }

  /**
   * Calls back once when a principal is valid no more: revoked, removed or expired. What another process changed counts
   * when it is read. Returns `unwatch`.
   */
  watch({ id }: Pick<Principal, "id">, onLost: (reason: string) => void): () => void {
    let cancelTimer = () => {};
    const unwatch = () => {
      cancelTimer();
      this.#watchers.delete(check);
    };
    const check = () => {
      cancelTimer();
      try {
        this.liveAtOnce({ id });
      } catch (error) {
        unwatch();
        onLost(errorMessage(error));
        return;
      }
      const expires = this.directory.expiryOf({ id });
      if (expires === undefined) return;
      const left = Date.parse(expires) - this.#clock.now().getTime();
      cancelTimer = this.#clock.after(Math.max(left, 1), check);
    };
    this.#watchers.add(check);
    check();
    return unwatch;
  }

  /** The operator at this machine. */
  local(): Principal {
    return this.liveAtOnce({ id: LOCAL });
  }

  /** Asks the tables. */
  query<Name extends keyof IdentityQueries & string>(
    name: Name,
    args: Parameters<IdentityQueries[Name]>[0],
  ): Promise<ReturnType<IdentityQueries[Name]>> {
    return this.#options.store.query<IdentityQueries, Name>(identityTables, name, args);
  }

  /** Makes a change with its entry, both or neither. It counts once this resolves. */
  async record(by: Principal, entry: IdentityChange, change: Change<Delta>): Promise<void> {
    try {
      const { results } = await this.#options.ledger.record([identityDraft(by, entry)], { with: [change] });
      this.#apply(results[0]);
    } catch (error) {
      if (!(error instanceof StoreError) || error.code !== "conflict") throw error;
      throw new SupervisorError("conflict", error.message, { cause: error });
    }
  }

  #joinCheck(): Promise<void> {
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined;
    });
    return this.#checking;
  }

  async #check(): Promise<void> {
    const asked = this.#clock.now().getTime();
    this.#apply(await this.query("since", { version: this.directory.version }));
    this.#checked = asked;
  }

  #apply(delta: Delta): void {
    this.directory.apply(delta, this.now());
    if (delta.users.length > 0 || delta.tokens.length > 0) for (const check of [...this.#watchers]) check();
  }
}

/** Refuses principals that may not change or list identity. */
function expectAdmin(by: Principal): void {
  if (isAdmin(by)) return;
  const why = by.kind === "agent" ? "an agent never may" : 'that takes the role "admin"';
  throw new SupervisorError("forbidden", `${by.user} may not change or list identity: ${why}`);
}

/** The tenant of a request. All but the operator see only their own. */
export function tenantFor(by: Principal, asked: string | undefined): string {
  if (asked === undefined || asked === by.tenant) return by.tenant;
  if (isOperator(by)) return asked;
  throw new SupervisorError("not_found", `there is no tenant "${asked}"`);
}

/** Refuses a principal, other than the operator, that grants more than it has. */
export function expectHeld(by: Principal, what: "scopes" | "agents", wanted: readonly string[]): void {
  if (isOperator(by) || covers(by[what], wanted)) return;
  const missing = wanted.filter((name) => !by[what].includes(name)).join(", ");
  throw new SupervisorError("forbidden", `${by.user} cannot give away ${what} it does not have: ${missing}`);
}

/**
 * Who is who, in memory: a copy of the tables that answers at once. Of two states of one row the newer counts, however
 * they arrive, so what was revoked never comes back. Times are RFC 3339.
 */
export class Directory {
  readonly #users = new Map<string, StoredUser>();
  readonly #tokens = new Map<string, StoredToken>();
  readonly #tokenOfHash = new Map<string, string>();
  readonly #children = new Map<string, StoredChild>();
  readonly #childOfHash = new Map<string, string>();
  /** The names of child sessions by the principal that began them. */
  readonly #childrenBy = new Map<string, Set<string>>();
  readonly #principals = new Map<string, Principal>();
  readonly #origins: ReadonlySet<string>;
  #version = 0;

  constructor(origins: readonly string[] = []) {
    this.#origins = new Set(origins);
  }

  /** Everything up to this version is in here. */
  get version(): number {
    return this.#version;
  }

  /** Takes over what changed. */
  apply({ after, version, users, tokens, children }: Delta, now: string): void {
    for (const user of users) keepNewer(this.#users, userKey(user.tenant, user.id), user);
    for (const token of tokens) {
      keepNewer(this.#tokens, token.id, token);
      this.#tokenOfHash.set(token.hash, token.id);
    }
    for (const child of children) {
      keepNewer(this.#children, child.session_id, child);
      this.#childOfHash.set(child.hash, child.session_id);
      this.#keepUnder(child);
    }
    this.#forgetExpired(now);
    // The objects stay as long as what they say, so that what follows from them is found out once.
    if (users.length > 0 || tokens.length > 0) this.#principals.clear();
    if (after <= this.#version) this.#version = Math.max(this.#version, version);
  }

  /** The principal of an id, as of now. */
  principal(id: string, now: string): Principal | undefined {
    const token = this.#tokens.get(id);
    if (id !== LOCAL && !isLive(token, now)) return undefined;
    if (token?.origin !== undefined && !this.#origins.has(token.origin)) return undefined;
    const known = this.#principals.get(id);
    if (known) return known;
    const made = token ? this.#principalOf(token) : this.#operator();
    if (made) this.#principals.set(id, made);
    return made;
  }

  /** The principal whose secret has a hash, as of now. */
  principalWithHash(hash: string, now: string): Principal | undefined {
    const token = this.#tokens.get(this.#tokenOfHash.get(hash) ?? "");
    return token && isSameHash(token.hash, hash) ? this.principal(token.id, now) : undefined;
  }

  /** When the issuer made the token that the rights of a principal are from. */
  issuedAt({ id }: Pick<Principal, "id">): string | undefined {
    return this.#tokens.get(id)?.issued;
  }

  /** When the token of a principal expires. */
  expiryOf({ id }: Pick<Principal, "id">): string | undefined {
    return this.#tokens.get(id)?.expires;
  }

  /** The child session of a name, as of now: no more than its principal still has. */
  child(session: string, now: string): ChildSession | undefined {
    const child = this.#children.get(session);
    if (!child || !isLive(child, now)) return undefined;
    const principal = this.principal(child.principal, now);
    if (principal?.tenant !== child.tenant || principal.user !== child.user) return undefined;
    return { ...asChildSession(child), scopes: intersect(child.scopes, principal.scopes) };
  }

  /** The live child sessions that were begun with a principal's token. */
  *childrenOf({ id }: Pick<Principal, "id">, now: string): Generator<ChildSession> {
    for (const session of this.#childrenBy.get(id) ?? []) {
      const child = this.child(session, now);
      if (child) yield child;
    }
  }

  /** The child session whose token has a hash, as of now. */
  childWithHash(hash: string, now: string): ChildSession | undefined {
    const child = this.#children.get(this.#childOfHash.get(hash) ?? "");
    return child && isSameHash(child.hash, hash) ? this.child(child.session_id, now) : undefined;
  }

  #keepUnder({ principal, session_id, revoked }: StoredChild): void {
    const own = this.#childrenBy.get(principal) ?? new Set<string>();
    if (revoked === undefined) own.add(session_id);
    else own.delete(session_id);
    if (own.size > 0) this.#childrenBy.set(principal, own);
    else this.#childrenBy.delete(principal);
  }

  #principalOf(token: StoredToken): Principal | undefined {
    const { id, kind, user, tenant, role, agents, started } = token;
    const owner = this.#userOf(tenant, user);
    if (!owner) return undefined;
    const roles = role === undefined ? owner.roles : owner.roles.filter((name) => name === role);
    return { id, kind, user, tenant, roles, scopes: intersect(owner.scopes, token.scopes), agents, started };
  }

  #operator(): Principal | undefined {
    const owner = this.#userOf(DEFAULT_TENANT, OPERATOR);
    if (!owner) return undefined;
    const { id: user, tenant, roles, scopes } = owner;
    return { id: LOCAL, kind: "user", user, tenant, roles, scopes, agents: ["*"], started: "interactive" };
  }

  #userOf(tenant: string, id: string): StoredUser | undefined {
    const user = this.#users.get(userKey(tenant, id));
    return user && user.removed === undefined ? user : undefined;
  }

  /** Children expire about in the order in which they were begun. */
  #forgetExpired(now: string): void {
    for (const [session, { expires, hash, principal }] of this.#children) {
      if (expires > now) return;
      this.#children.delete(session);
      this.#childrenBy.get(principal)?.delete(session);
      this.#childOfHash.delete(hash);
    }
  }
}

interface Ending {
  readonly expires: string | undefined;
  readonly revoked: string | undefined;
}

function isLive(row: Ending | undefined, now: string): boolean {
  return row !== undefined && row.revoked === undefined && (row.expires === undefined || row.expires > now);
}

function keepNewer<Row extends { readonly changed: number }>(
  rows: Map<string, Row>,
  key: string,
  row: Row,
): void {
  if ((rows.get(key)?.changed ?? 0) < row.changed) rows.set(key, row);
}

/** No name holds a slash. */
function userKey(tenant: string, id: string): string {
  return `${tenant}/${id}`;
}
