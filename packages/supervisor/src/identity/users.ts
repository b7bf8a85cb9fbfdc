import { change } from "@reins/store";
import { z } from "zod";
import { SupervisorError } from "../errors.ts";
import { Line, Name, Roles, read, Scopes } from "./names.ts";
import { actorOf, DEFAULT_TENANT, isOperator, OPERATOR, type Principal } from "./principal.ts";
import { expectHeld, type Registry, tenantFor } from "./registry.ts";
import { identityTables, type Tenant } from "./tables/tables.ts";

/** A person or service on whose behalf agents act. Ids are unique within a tenant. */
export interface User {
  readonly id: string;
  readonly tenant: string;
  readonly name: string;
  readonly email: string;
  readonly roles: readonly string[];
  /** `*` is all. */
  readonly scopes: readonly string[];
  /** RFC 3339. */
  readonly created: string;
}

/** A user as the store keeps it; a removed one stays as a mark. */
export interface StoredUser extends User {
  readonly removed: string | undefined;
  /** Grows with every change of identity; the last one that touched this. */
  readonly changed: number;
}

const email = z.email().max(254);

/** What makes a user. */
export const NewUser = z.strictObject({
  id: Name,
  name: Line,
  email,
  /** By default the tenant of its creator. */
  tenant: Name.optional(),
  roles: Roles,
  scopes: Scopes,
});
export type NewUser = Readonly<z.input<typeof NewUser>>;

/** What changes about a user; what is not named stays. */
export const UserChange = z.strictObject({
  id: Name,
  tenant: Name.optional(),
  name: Line.optional(),
  email: email.optional(),
  roles: Roles.optional(),
  scopes: Scopes.optional(),
});
export type UserChange = Readonly<z.input<typeof UserChange>>;

/** Which user. */
export const UserName = z.strictObject({ id: Name, tenant: Name.optional() });
export type UserName = Readonly<z.input<typeof UserName>>;

/** A user as others see it. */
function asUser({ removed: _, changed: __, ...user }: StoredUser): User {
  return user;
}

const MOST_ATTEMPTS = 5;
const MEMBERS = ["name", "email", "roles", "scopes"] as const;

/** The users of all tenants, and what an admin does with those of its own. */
export class Users {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /** Adds a user; one that was removed may come again, without its old tokens. */
  async add(given: NewUser, principal: Principal): Promise<User> {
    const by = await this.#registry.admin(principal);
    const { tenant: asked, ...rest } = read(NewUser, given);
    const tenant = tenantFor(by, asked);
    expectHeld(by, "scopes", rest.scopes);
    const known = await this.#registry.query("user", { tenant, id: rest.id });
    if (known && known.removed === undefined)
      throw new SupervisorError("conflict", `there is a user "${rest.id}" already`);
    const at = this.#registry.now();
    const user: User = { ...rest, tenant, created: at };
    const { roles, scopes } = user;
    await this.#registry.record(
      by,
      { change: "user_added", tenant, target: nameOf(user), details: { user: user.id, roles, scopes } },
      change(identityTables, "putUser", { user, at, expected: known?.changed ?? 0 }),
    );
    return user;
  }

  /** Changes a user; counts with the next decision. */
  async set(given: UserChange, principal: Principal): Promise<User> {
    const by = await this.#registry.admin(principal);
    const { id, tenant: asked, ...wanted } = read(UserChange, given);
    const tenant = tenantFor(by, asked);
    if (isOperatorUser(tenant, id) && !isOperator(by))
      throw new SupervisorError("forbidden", "only the operator of this machine changes the operator");
    expectHeld(by, "scopes", wanted.scopes ?? []);
    return this.#untilFirst(async () => {
      const known = await this.#find(tenant, id);
      const { name = known.name, email = known.email, roles = known.roles, scopes = known.scopes } = wanted;
      const user: User = { ...asUser(known), name, email, roles, scopes };
      const changed = MEMBERS.filter((member) => wanted[member] !== undefined);
      const before = { roles: known.roles, scopes: known.scopes };
      const details = { user: id, changed, before, roles, scopes };
      await this.#registry.record(
        by,
        { change: "user_changed", tenant, target: nameOf(user), details },
        change(identityTables, "putUser", { user, at: this.#registry.now(), expected: known.changed }),
      );
      return user;
    });
  }

  /** Removes a user with its tokens and sub-agents; counts with the next decision. */
  async remove(given: UserName, principal: Principal): Promise<void> {
    const by = await this.#registry.admin(principal);
    const { id, tenant: asked } = read(UserName, given);
    const tenant = tenantFor(by, asked);
    if (isOperatorUser(tenant, id))
      throw new SupervisorError("forbidden", "the operator of this machine cannot be removed");
    await this.#untilFirst(async () => {
      const { changed: expected } = await this.#find(tenant, id);
      await this.#registry.record(
        by,
        { change: "user_removed", tenant, target: nameOf({ tenant, id }), details: { user: id } },
        change(identityTables, "removeUser", { tenant, id, expected, at: this.#registry.now() }),
      );
    });
  }

  /** The users of a tenant. */
  async list(asked: string | undefined, principal: Principal): Promise<readonly User[]> {
    const by = await this.#registry.admin(principal);
    return (await this.#registry.query("users", { tenant: tenantFor(by, asked) })).map(asUser);
  }

  /** The tenants that a principal can see: all for the operator, else its own. */
  async tenants(principal: Principal): Promise<readonly Tenant[]> {
    const by = await this.#registry.admin(principal);
    const all = await this.#registry.query("tenants", null);
    return isOperator(by) ? all : all.filter(({ id }) => id === by.tenant);
  }

  /** Removes a tenant with all its users, tokens and sub-agents. For the operator alone. */
  async removeTenant(tenant: string, principal: Principal): Promise<void> {
    const by = await this.#registry.admin(principal);
    const known = await this.tenants(by);
    if (!known.some(({ id }) => id === tenant))
      throw new SupervisorError("not_found", `there is no tenant "${tenant}"`);
    if (tenant === DEFAULT_TENANT || !isOperator(by))
      throw new SupervisorError("forbidden", `the tenant "${tenant}" is not ${by.user}'s to remove`);
    await this.#registry.record(
      by,
      { change: "tenant_removed", tenant, target: `tenant:${tenant}` },
      change(identityTables, "removeTenant", { tenant, at: this.#registry.now() }),
    );
  }

  async #find(tenant: string, id: string): Promise<StoredUser> {
    const known = await this.#registry.query("user", { tenant, id });
    if (known && known.removed === undefined) return known;
    throw new SupervisorError("not_found", `there is no user "${id}"`);
  }

  /** Retries on the current state after a conflict. */
  async #untilFirst<Result>(run: () => Promise<Result>): Promise<Result> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await run();
      } catch (error) {
        const lost = error instanceof SupervisorError && error.code === "conflict";
        if (!lost || attempt === MOST_ATTEMPTS) throw error;
      }
    }
  }
}

function nameOf({ tenant, id }: Pick<User, "tenant" | "id">): string {
  return actorOf({ tenant, user: id });
}

function isOperatorUser(tenant: string, id: string): boolean {
  return tenant === DEFAULT_TENANT && id === OPERATOR;
}
