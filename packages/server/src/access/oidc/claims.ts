import type { Vouched } from "@reins/supervisor";
import type { JWTPayload } from "jose";
import { type OidcSettings, originOf } from "./settings.ts";

/** The claims of a verified token. */
export type TokenClaims = JWTPayload & Required<Pick<JWTPayload, "sub" | "iat" | "exp">>;

type Claim = NonNullable<OidcSettings["grants"][number]["claim"]>;

/** What the settings of an issuer make of the claims of a verified token; undefined if they name no tenant for it. */
export function vouchedBy(settings: OidcSettings, claims: TokenClaims, expires: Date): Vouched | undefined {
  const tenant = tenantOf(settings.tenant, claims);
  if (tenant === undefined) return undefined;
  const given = settings.grants.filter(
    ({ claim, value }) =>
      claim === undefined || (value !== undefined && valuesOf(claims, claim).includes(value)),
  );
  return {
    origin: originOf(settings),
    issuerName: settings.name,
    issuer: settings.issuer,
    subject: claims.sub,
    kind: settings.kind,
    tenant,
    roles: given.flatMap(({ roles }) => roles),
    scopes: given.flatMap(({ scopes }) => scopes),
    agents: given.flatMap(({ agents }) => agents),
    name: typeof claims.name === "string" ? claims.name : undefined,
    email: typeof claims.email === "string" && EMAIL.test(claims.email) ? claims.email : undefined,
    issued: new Date(claims.iat * 1_000),
    expires,
    workMs: settings.work * 60_000,
  };
}

const EMAIL = /^[\x21-\x3f\x41-\x7e]{1,64}@[A-Za-z0-9.-]{1,189}$/;

/** A claim with values of two tenants gives none: which of them counts would be a matter of order. */
function tenantOf(tenant: OidcSettings["tenant"], claims: TokenClaims): string | undefined {
  if (typeof tenant === "string") return tenant;
  const { claim, values } = tenant;
  const named = valuesOf(claims, claim).flatMap((value) =>
    Object.hasOwn(values, value) ? (values[value] ?? []) : [],
  );
  const [first, ...others] = new Set(named);
  return others.length === 0 ? first : undefined;
}

/** The texts of a claim. `scope` holds several, with spaces between them. */
function valuesOf(claims: TokenClaims, claim: Claim): readonly string[] {
  const path = typeof claim === "string" ? [claim] : claim;
  let value: unknown = claims;
  for (const name of path) value = memberOf(value, name);
  if (typeof value === "string") return path.at(-1) === "scope" ? value.split(" ") : [value];
  return Array.isArray(value) ? value.filter((item) => typeof item === "string") : [];
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== "object" || value === null || !Object.hasOwn(value, name)) return undefined;
  return Object.getOwnPropertyDescriptor(value, name)?.value;
}
