import { STARTS, type Started } from "@reins/policy";
import { change } from "@reins/store";
import { z } from "zod";
import { SupervisorError } from "../errors.ts";
import { Agents, Name, newSecret, randomName, read, Scopes } from "./names.ts";
import {
  ALL,
  intersect,
  isOperator,
  PRINCIPAL_KINDS,
  type Principal,
  type PrincipalKind,
} from "./principal.ts";
import { expectHeld, type Registry, tenantFor } from "./registry.ts";
import { identityTables } from "./tables/tables.ts";
import type { User } from "./users.ts";

/** A token as others see it: everything but its secret. */
export interface Token {
  readonly id: string;
  readonly user: string;
  readonly tenant: string;
  readonly kind: PrincipalKind;
  /** The one role of its user it acts in; without one, all of them. */
  readonly role: string | undefined;
  /** What it may at most; its user's scopes narrow them. */
  readonly scopes: readonly string[];
  readonly agents: readonly string[];
  readonly started: Started;
  /** RFC 3339, like the times below. */
  readonly created: string;
  readonly expires: string | undefined;
  readonly revoked: string | undefined;
}

/** A token as the store keeps it. */
export interface StoredToken extends Token {
  /** The keyed hash of its secret. */
  readonly hash: string;
  /** Of a token that stands for a user of an OpenID issuer: the issuer, with the settings it was admitted under. */
  readonly origin?: string;
  /** When the issuer made the token that the rights are from, RFC 3339. */
  readonly issued?: string;
  readonly changed: number;
}

/** A moment, as a `Date` or RFC 3339. Kept in the one form that sorts by time. */
const Moment = z
  .union([z.date(), z.iso.datetime({ offset: true })])
  .transform((moment) => new Date(moment).toISOString())
  .refine((moment) => moment.length === "2026-11-15T05:20:00.000Z".length, "is beyond the year 9999");

/** What makes a token. */
export const NewToken = z.strictObject({
  user: Name,
  /** By default the tenant of its creator. */
  tenant: Name.optional(),
  /** One of the user's roles; by default all of them. */
  role: Name.optional(),
  /** By default all that the user has. */
  scopes: Scopes.optional(),
  /** By default none: every agent it names stays unverified. */
  agents: Agents.optional(),
  /** How the work it begins was started; by default `api`. */
  started: z.enum(STARTS).optional(),
  /** By default `user`. */
  kind: z.enum(PRINCIPAL_KINDS).optional(),
  /** By default it does not expire. */
  expires: Moment.optional(),
});
export type NewToken = Readonly<z.input<typeof NewToken>>;

/** A new token. The secret is nowhere else and cannot be shown again. */
export interface CreatedToken {
  readonly id: string;
  readonly secret: string;
}

/** A token as others see it. */
function asToken({ hash: _, changed: __, origin: ___, issued: ____, ...token }: StoredToken): Token {
  return token;
}

const ID_BYTES = 12;

/** The tokens of all tenants, and what an admin does with those of its own. */
export class Tokens {
  readonly #registry: Registry;

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /** Makes a token for a user. Its secret is given out here and kept nowhere. */
  async create(given: NewToken, principal: Principal): Promise<CreatedToken> {
    const by = await this.#registry.admin(principal);
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
    const by = await this.#registry.admin(principal);
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
    const by = await this.#registry.admin(principal);
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
}
