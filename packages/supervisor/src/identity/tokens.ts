import { change } from "@reins/store";
import { SupervisorError } from "../supervisor-error.ts";
import { expectAdmin, expectHeld, tenantFor } from "./authority.ts";
import { read } from "./names.ts";
import { isOperator, type Principal } from "./principal.ts";
import type { Registry } from "./registry.ts";
import { ALL, intersect } from "./scopes.ts";
import { newSecret, randomName } from "./secret.ts";
import { identityTables } from "./tables/tables.ts";
import { asToken, type CreatedToken, NewToken, type StoredToken, type Token } from "./token.ts";
import type { User } from "./user.ts";

const ID_BYTES = 12;

/** The tokens of all tenants, and what an admin does with those of its own. */
export class Tokens {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /** Makes a token for a user. Its secret is given out here and kept nowhere. */
  async create(given: NewToken, principal: Principal): Promise<CreatedToken> {
    const by = await this.#admin(principal);
    const wanted = read(NewToken, given);
    const tenant = tenantFor(by, wanted.tenant);
    const user = await this.#registry.query("user", { tenant, id: wanted.user });
    if (!user || user.removed !== undefined)
      throw new SupervisorError("not_found", `there is no user "${wanted.user}"`);
    const { secret, token } = this.#make(wanted, user);
    expectHeld(by, "scopes", intersect(user.scopes, token.scopes));
    expectHeld(by, "agents", token.agents);
    const { hash: _, created: __, id, ...shown } = token;
    const details = { token: id, ...shown, role: shown.role ?? null, expires: shown.expires ?? null };
    await this.#registry.record(
      by,
      { change: "token_created", tenant, target: id, details },
      change(identityTables, "addToken", { token }),
    );
    return { id, secret };
  }

  /** Ends a token and the sub-agents begun with it; counts with the next decision. */
  async revoke(id: string, principal: Principal): Promise<void> {
    const by = await this.#admin(principal);
    const token = await this.#registry.query("token", { tenant: isOperator(by) ? undefined : by.tenant, id });
    if (!token) throw new SupervisorError("not_found", `there is no token "${id}"`);
    if (token.revoked !== undefined)
      throw new SupervisorError("conflict", `the token "${id}" was revoked already`);
    const { tenant, user } = token;
    await this.#registry.record(
      by,
      { change: "token_revoked", tenant, target: id, details: { token: id, user } },
      change(identityTables, "revokeToken", { tenant, id, at: this.#registry.now() }),
    );
  }

  /** The tokens of a tenant, the newest first, revoked ones too. */
  async list(asked: string | undefined, principal: Principal): Promise<readonly Token[]> {
    const by = await this.#admin(principal);
    return (await this.#registry.query("tokens", { tenant: tenantFor(by, asked) })).map(asToken);
  }

  #make(wanted: ReturnType<typeof NewToken.parse>, { tenant, id: user, roles }: User) {
    const { role, expires, scopes = [ALL], agents = [], started = "api", kind = "user" } = wanted;
    const created = this.#registry.now();
    if (role !== undefined && !roles.includes(role))
      throw new SupervisorError("invalid", `the user "${user}" does not have the role "${role}"`);
    if (expires !== undefined && expires <= created)
      throw new SupervisorError("invalid", `a token that expires at ${expires} would never be valid`);
    const secret = newSecret(this.#registry.randomBytes);
    const token: Omit<StoredToken, "changed" | "revoked"> = {
      id: `tok_${randomName(this.#registry.randomBytes, ID_BYTES)}`,
      user,
      tenant,
      kind,
      role,
      scopes,
      agents,
      started,
      created,
      expires,
      hash: this.#registry.hash.ofToken(secret),
    };
    return { secret, token };
  }

  async #admin(principal: Principal): Promise<Principal> {
    const by = await this.#registry.live(principal);
    expectAdmin(by);
    return by;
  }
}
