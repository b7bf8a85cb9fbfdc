import { randomBytes } from "node:crypto";
import { type Clock, errorMessage, systemClock } from "@reins/kit";
import type { Draft, Ledger } from "@reins/ledger";
import { type Change, StoreError, type StoreReader } from "@reins/store";
import { SupervisorError } from "../errors.ts";
import { type Redact, redact } from "../redaction/redactor.ts";
import { expectAdmin } from "./authority.ts";
import { Directory } from "./directory.ts";
import { type RandomBytes, SecretHash } from "./names.ts";
import { actorOf, LOCAL, type Principal } from "./principal.ts";
import { type Delta, type IdentityQueries, identityTables } from "./tables/tables.ts";

/** A change of identity, for the record. Never with a secret, a hash of one, or more about a person than an id. */
export interface IdentityChange {
  readonly change:
    | "user_added"
    | "user_changed"
    | "user_removed"
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
  /** Removes secrets from what is stored; by default those of known formats. */
  readonly redact?: Redact | undefined;
}

const STALE_AFTER = 50;

/** Keeps the directory up to date with the store, and commits every change with its entry in the ledger. */
export class Registry {
  readonly directory = new Directory();
  readonly hash: SecretHash;
  readonly randomBytes: RandomBytes;
  readonly redact: Redact;
  readonly #options: RegistryOptions;
  readonly #clock: Clock;
  #checked = Number.NEGATIVE_INFINITY;
  #checking: Promise<void> | undefined;
  readonly #watchers = new Set<() => void>();

  private constructor(options: RegistryOptions, hash: SecretHash) {
    this.#options = options;
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
    return this.#clock.now().toISOString();
  }

  /** Refreshes a directory that is too old. Rejects when that is not possible. */
  async fresh(): Promise<void> {
    const since = this.#clock.now().getTime() - this.#checked;
    if (since >= 0 && since < (this.#options.staleAfter ?? STALE_AFTER)) return;
    this.#checking ??= this.#check().finally(() => {
      this.#checking = undefined;
    });
    await this.#checking;
  }

  /** A principal as it is now; `forbidden` if it is no more. */
  async live(principal: Principal): Promise<Principal> {
    await this.fresh();
    return this.liveAtOnce(principal);
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
