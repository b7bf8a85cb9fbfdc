import { createHash } from "node:crypto";
import { change } from "@reins/store";
import { SupervisorError } from "../errors.ts";
import { Agents, Line, Name, Roles, read, Scopes } from "./names.ts";
import { actorOf, type Principal, type PrincipalKind } from "./principal.ts";
import type { Registry } from "./registry.ts";
import { type AdmittedToken, identityTables } from "./tables/tables.ts";
import type { User } from "./users.ts";

/** A user as an OpenID issuer vouches for it, with the rights that the settings of the issuer give. */
export interface Vouched {
  /** The issuer and its settings; other settings are another origin. */
  readonly origin: string;
  /** What the issuer is called here. */
  readonly issuerName: string;
  readonly issuer: string;
  readonly subject: string;
  readonly kind: Exclude<PrincipalKind, "agent">;
  readonly tenant: string;
  readonly roles: readonly string[];
  readonly scopes: readonly string[];
  readonly agents: readonly string[];
  readonly name?: string | undefined;
  readonly email?: string | undefined;
  readonly issued: Date;
  /** Until when its credential is valid. */
  readonly expires: Date;
  /** How long its work goes on after that, in milliseconds. */
  readonly workMs: number;
}

const MOST_ATTEMPTS = 5;
const ID_CHARACTERS = 24;
/** A subject that stands in a user's id as the issuer has it. */
const SUBJECT = /^[A-Za-z0-9][A-Za-z0-9._@+-]{0,63}$/;

/**
 * Admits the users of OpenID issuers. One user of one issuer in one tenant is one principal, whichever token it shows.
 * It has the rights of the newest token that was seen, so that an older one that is still valid brings nothing back.
 */
export class Admissions {
  readonly #registry: Registry;
  readonly #underWay = new Map<string, Promise<Principal>>();

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  async admit(vouched: Vouched): Promise<Principal> {
    await this.#registry.fresh();
    const id = principalId(vouched);
    const known = this.#unchanged(id, vouched);
    if (known) return known;
    // Requests that arrive together make one change.
    const admitting =
      this.#underWay
        .get(id)
        ?.catch(() => undefined)
        .then(() => this.#unchanged(id, vouched)) ?? Promise.resolve(undefined);
    const admitted = admitting.then((found) => found ?? this.#put(id, vouched));
    this.#underWay.set(id, admitted);
    try {
      return await admitted;
    } finally {
      if (this.#underWay.get(id) === admitted) this.#underWay.delete(id);
    }
  }

  /** The principal as it is, if the token changes nothing about it. */
  #unchanged(id: string, vouched: Vouched): Principal | undefined {
    const { directory } = this.#registry;
    const known = directory.principal(id, this.#registry.now());
    if (!known || (directory.expiryOf({ id }) ?? "") < enough(vouched)) return undefined;
    if ((directory.issuedAt({ id }) ?? "") > vouched.issued.toISOString()) return known;
    return isSame(known, vouched) ? known : undefined;
  }

  async #put(id: string, vouched: Vouched): Promise<Principal> {
    for (let attempt = 1; ; attempt += 1) {
      try {
        await this.#tryPut(id, vouched);
        return this.#registry.liveAtOnce({ id });
      } catch (error) {
        const lost = error instanceof SupervisorError && error.code === "conflict";
        if (!lost || attempt === MOST_ATTEMPTS) throw error;
        await this.#registry.fresh();
      }
    }
  }

  async #tryPut(id: string, vouched: Vouched): Promise<void> {
    const rights = rightsOf(vouched);
    const { tenant } = rights;
    const userId = userIdOf(vouched);
    const [user, token] = await Promise.all([
      this.#registry.query("user", { tenant, id: userId }),
      this.#registry.query("token", { tenant, id }),
    ]);
    if (user?.removed !== undefined)
      throw new SupervisorError("forbidden", `the user "${userId}" was removed; an admin can add it again`);
    if (user && !token)
      throw new SupervisorError(
        "forbidden",
        `there is another user "${userId}"; the issuer needs another name`,
      );
    // A user that was added again after that may come back.
    if (token?.revoked !== undefined && (user === undefined || user.created <= token.revoked))
      throw new SupervisorError("forbidden", `the access of "${userId}" was revoked`);
    const now = this.#registry.now();
    const issued = vouched.issued.toISOString();
    const isOlder = token?.origin === vouched.origin && (token.issued ?? "") > issued;
    const kept =
      isOlder && user ? { ...rights, roles: user.roles, scopes: user.scopes, agents: token.agents } : rights;
    const expires = [
      new Date(vouched.expires.getTime() + vouched.workMs).toISOString(),
      token?.expires ?? "",
    ];
    const put: User = {
      id: userId,
      tenant,
      name: textOf(vouched.name) ?? user?.name ?? userId,
      email: vouched.email ?? user?.email ?? "",
      roles: kept.roles,
      scopes: kept.scopes,
      created: user?.created ?? now,
    };
    const made: AdmittedToken = {
      ...{ id, tenant, user: userId, kind: vouched.kind, scopes: ["*"], agents: kept.agents, started: "api" },
      ...{ created: token?.created ?? now, expires: expires.sort().at(-1), origin: vouched.origin },
      issued: isOlder ? (token.issued ?? issued) : issued,
    };
    const by: Principal = { ...{ id, kind: vouched.kind, user: userId, started: "api" }, ...kept };
    const details = { user: userId, issuer: vouched.issuer, roles: kept.roles, scopes: kept.scopes };
    await this.#registry.record(
      by,
      { change: "user_admitted", tenant, target: actorOf({ tenant, user: userId }), details },
      change(identityTables, "admit", {
        user: put,
        token: made,
        expected: { user: user?.changed ?? 0, token: token?.changed ?? 0 },
      }),
    );
  }
}

/** The stored expiry is renewed when half of the time for work is over, so that most requests write nothing. */
function enough({ expires, workMs }: Vouched): string {
  return new Date(expires.getTime() + workMs / 2).toISOString();
}

function isSame(known: Principal, vouched: Vouched): boolean {
  const { roles, scopes, agents } = rightsOf(vouched);
  const same = (left: readonly string[], right: readonly string[]) =>
    left.length === right.length && left.every((name, index) => name === right[index]);
  return (
    known.kind === vouched.kind &&
    same(known.roles, roles) &&
    same(known.scopes, scopes) &&
    same(known.agents, agents)
  );
}

function rightsOf({ tenant, roles, scopes, agents }: Vouched) {
  return {
    tenant: read(Name, tenant),
    roles: read(Roles, roles),
    scopes: read(Scopes, scopes),
    agents: read(Agents, agents),
  };
}

/** Stable for an issuer, a subject and a tenant. */
function principalId({ issuer, subject, tenant }: Vouched): string {
  return `oidc_${digestOf(issuer, subject, tenant)}`;
}

/** The name of the issuer and the subject, or after a plus a digest of a subject that is no name. */
function userIdOf({ issuerName, issuer, subject }: Vouched): string {
  return read(Name, `${issuerName}:${SUBJECT.test(subject) ? subject : `+${digestOf(issuer, subject)}`}`);
}

function digestOf(...parts: readonly string[]): string {
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, ID_CHARACTERS);
}

function textOf(name: string | undefined): string | undefined {
  return Line.safeParse(name).data;
}
