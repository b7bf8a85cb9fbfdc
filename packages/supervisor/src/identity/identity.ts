import type { Roster, Subject } from "@reins/policy";
import { Admissions, type Vouched } from "./admission.ts";
import {
  type ChildSession,
  DELEGATION_LIMITS,
  type Delegated,
  Delegation,
  type DelegationLimits,
  type DelegationRequest,
} from "./delegation.ts";
import { isSecret } from "./names.ts";
import type { Principal } from "./principal.ts";
import { Registry, type RegistryOptions } from "./registry.ts";
import { type SubjectRequest, Subjects } from "./subjects.ts";
import type { Tenant } from "./tables/tables.ts";
import { type CreatedToken, type NewToken, type Token, Tokens } from "./tokens.ts";
import { type NewUser, type User, type UserChange, type UserName, Users } from "./users.ts";

/** The store, the ledger, and how far delegation may go. */
export interface IdentityOptions extends RegistryOptions {
  readonly limits?: Partial<DelegationLimits> | undefined;
}

/**
 * Who is who and who may what: users, tokens, tenants, sub-agents. Every change has an author, by default the
 * operator at this machine, is in the ledger in the same commit, and counts with the next decision. Rejects with a
 * `SupervisorError`.
 */
export class Identity {
  readonly #registry: Registry;
  readonly #users: Users;
  readonly #admissions: Admissions;
  readonly #tokens: Tokens;
  readonly #subjects: Subjects;
  readonly #delegation: Delegation;
  /** The principal of an id as it is now, for connections that outlive one decision; `undefined` if it may no more. */
  readonly current: Registry["current"];
  /**
   * The subject of an event, as the harness itself knows it: what was changed here counts at once, what another process
   * changed from the next {@link authenticate} or {@link current} on. Throws `forbidden` when the principal or the
   * session_token is no longer, or never was, valid.
   */
  readonly subjectFor: Subjects["subjectFor"];

  private constructor(registry: Registry, limits: DelegationLimits) {
    this.#registry = registry;
    this.#users = new Users(registry);
    this.#admissions = new Admissions(registry);
    this.#tokens = new Tokens(registry);
    this.#subjects = new Subjects(registry);
    this.#delegation = new Delegation(registry, this.#subjects, limits);
    this.current = registry.current.bind(registry);
    this.subjectFor = this.#subjects.subjectFor.bind(this.#subjects);
  }

  /** Reads who is who from a store that holds `identityTables`. */
  static async open({ limits, ...options }: IdentityOptions): Promise<Identity> {
    return new Identity(await Registry.open(options), { ...DELEGATION_LIMITS, ...limits });
  }

  /** The operator at this machine, who needs no token: the user `operator` of the tenant `default`. */
  local(): Principal {
    return this.#registry.local();
  }

  /** The current principal of a secret; `undefined` if it is not valid. */
  async authenticate(secret: string): Promise<Principal | undefined> {
    if (!isSecret(secret)) return undefined;
    const { directory, hash } = this.#registry;
    const hashed = hash.ofToken(secret);
    return this.#registry.find(() => directory.principalWithHash(hashed, this.#registry.now()));
  }

  /** The current principal of a user that an OpenID issuer vouches for; `forbidden` if it was removed here. */
  admit(vouched: Vouched): Promise<Principal> {
    return this.#admissions.admit(vouched);
  }

  /** Calls back once when a principal is revoked, removed or expired, as far as that is known here; returns `unwatch`. */
  watch(principal: Pick<Principal, "id">, onLost: (reason: string) => void): () => void {
    return this.#registry.watch(principal, onLost);
  }

  /** Trusts agents as a roster says from now on; until there is one, none is known. */
  useRoster(roster: Pick<Roster, "trustOf">): void {
    this.#subjects.roster = roster;
  }

  /** The subject of an event that is refused because of what it claims: the holder of the token, and no more. */
  refusedSubject(request: SubjectRequest): Subject {
    return this.#subjects.refused(request);
  }

  /** Begins a sub-agent with no more than its user, its parent and its task have in common. */
  delegate(request: DelegationRequest): Promise<Delegated> {
    return this.#delegation.delegate(request);
  }

  /** The sub-agent that a session_token stands for, while it is valid. */
  childOf(sessionToken: string): ChildSession | undefined {
    return this.#subjects.childOf(sessionToken);
  }

  /** Ends the sub-agents begun from a session, and itself if it is one; returns how many. */
  revokeSession(session: string, by = this.local(), tenant?: string): Promise<number> {
    return this.#delegation.revoke(session, by, tenant);
  }

  /** The live sub-agents of a tenant, by default of the one who asks. */
  listSessions(tenant?: string, by = this.local()): Promise<readonly ChildSession[]> {
    return this.#delegation.list(tenant, by);
  }

  /** Adds a user; the operator may do so in a tenant that comes to be with it. */
  addUser(user: NewUser, by = this.local()): Promise<User> {
    return this.#users.add(user, by);
  }

  /** Changes what is named and leaves the rest. */
  setUser(user: UserChange, by = this.local()): Promise<User> {
    return this.#users.set(user, by);
  }

  /** Removes a user with its tokens and sub-agents. */
  removeUser(user: UserName, by = this.local()): Promise<void> {
    return this.#users.remove(user, by);
  }

  /** The users of a tenant, by default of the one who asks. */
  listUsers(tenant?: string, by = this.local()): Promise<readonly User[]> {
    return this.#users.list(tenant, by);
  }

  /** Makes a token; its secret is shown this once. */
  createToken(token: NewToken, by = this.local()): Promise<CreatedToken> {
    return this.#tokens.create(token, by);
  }

  /** The tokens of a tenant, by default of the one who asks; never their secrets. */
  listTokens(tenant?: string, by = this.local()): Promise<readonly Token[]> {
    return this.#tokens.list(tenant, by);
  }

  /** Ends a token and the sub-agents begun with it. */
  revokeToken(id: string, by = this.local()): Promise<void> {
    return this.#tokens.revoke(id, by);
  }

  /** The tenants that a principal can see. A tenant is created with its first user. */
  listTenants(by = this.local()): Promise<readonly Tenant[]> {
    return this.#users.tenants(by);
  }

  /** The names of all tenants there ever were: what a removed one left belongs to no other. */
  everyTenant(): Promise<readonly string[]> {
    return this.#registry.query("everyTenant", null);
  }

  /** Removes a tenant with everything in it. For the operator alone. */
  removeTenant(tenant: string, by = this.local()): Promise<void> {
    return this.#users.removeTenant(tenant, by);
  }
}
