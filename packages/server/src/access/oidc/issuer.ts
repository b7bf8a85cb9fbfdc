import { type Clock, errorMessage, parseJson, readLimited } from "@reins/kit";
import type { Vouched } from "@reins/supervisor";
import type { JWTPayload, JWTVerifyGetKey, JWTVerifyOptions } from "jose";
import { z } from "zod";
import { isSafe, type OidcSettings, originOf } from "./settings.ts";

/** A token that is not accepted, or an issuer that does not answer. */
export class OidcError extends Error {
  override readonly name = "OidcError";
  readonly code: "refused" | "unreachable";

  constructor(code: OidcError["code"], message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}

const Endpoint = z.string().refine(isSafe, "an https address; http only on this machine");

/** What an issuer says of itself, as far as it is used. */
const IssuerMetadata = z.object({
  issuer: z.string(),
  jwks_uri: Endpoint,
  authorization_endpoint: Endpoint.optional(),
  token_endpoint: Endpoint.optional(),
  token_endpoint_auth_methods_supported: z.array(z.string()).optional(),
  authorization_response_iss_parameter_supported: z.boolean().optional(),
});
type IssuerMetadata = z.infer<typeof IssuerMetadata>;

const KeySet = z.object({ keys: z.array(z.looseObject({ kty: z.string() })).max(100) });

const TIMEOUT_MS = 5_000;
const MAX_BYTES = 256 * 1024;
/** Keys are fetched again after this time; while the issuer does not answer, they count for longer. */
const FRESH_MS = 10 * 60_000;
const STALE_MS = 60 * 60_000;
/** Unknown keys, and failures, cause at most one fetch in this time. */
const COOLDOWN_MS = 30_000;
const FAILURE_MS = 10_000;
/** The types of tokens that give access; others, such as those of a logout, do not. */
const TYPES: ReadonlySet<unknown> = new Set([undefined, "jwt", "at+jwt", "application/at+jwt"]);

interface FetchedKeys {
  readonly metadata: IssuerMetadata;
  readonly key: JWTVerifyGetKey;
  readonly at: number;
}

/** An OpenID issuer: its metadata and keys, which are cached, and the verification of its tokens. */
export class OidcIssuer {
  readonly settings: OidcSettings;
  readonly #clock: Clock;
  #fetched: FetchedKeys | undefined;
  #fetching: Promise<FetchedKeys> | undefined;
  #failed: { readonly at: number; readonly error: OidcError } | undefined;

  constructor(settings: OidcSettings, clock: Clock) {
    this.settings = settings;
    this.#clock = clock;
  }

  /** What the issuer says of itself. */
  async metadata(): Promise<IssuerMetadata> {
    return (await this.#keys()).metadata;
  }

  /** The claims of a token for one of some audiences. */
  async verify(token: string, audience: readonly string[]): Promise<TokenClaims> {
    const keys = await this.#keys();
    const { errors } = await import("jose");
    try {
      return await this.#claims(token, audience, keys.key);
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw refusal(error);
      // The issuer may have a new key.
      if (this.#now() - keys.at < COOLDOWN_MS) throw refusal(error);
      const { key } = await this.#fetch();
      return await this.#claims(token, audience, key).catch((again: unknown) => {
        throw refusal(again);
      });
    }
  }

  async #claims(token: string, audience: readonly string[], key: JWTVerifyGetKey): Promise<TokenClaims> {
    const { jwtVerify } = await import("jose");
    const { issuer, algorithms, clock_skew } = this.settings;
    const options: JWTVerifyOptions = {
      ...{ issuer, audience: [...audience], algorithms, clockTolerance: clock_skew },
      ...{ currentDate: this.#clock.now(), requiredClaims: ["sub", "iat", "exp"] },
    };
    const { payload, protectedHeader } = await jwtVerify(token, key, options);
    const { sub, iat, exp } = payload;
    if (!TYPES.has(protectedHeader.typ?.toLowerCase()))
      throw new OidcError("refused", "the token is of a type that gives no access");
    if (
      typeof sub !== "string" ||
      sub === "" ||
      sub.length > MAX_SUBJECT ||
      iat === undefined ||
      exp === undefined
    )
      throw new OidcError("refused", "the token names no subject, or not when it was made and ends");
    if (iat < 0 || iat * 1_000 > this.#now() + clock_skew * 1_000)
      throw new OidcError("refused", "the token is from the future, or from before there were tokens");
    return { ...payload, sub, iat, exp: Math.min(exp, LAST_SECOND) };
  }

  /** The keys as they are cached, or fetched anew. */
  async #keys(): Promise<FetchedKeys> {
    const known = this.#fetched;
    const age = known ? this.#now() - known.at : Number.POSITIVE_INFINITY;
    if (known && age >= 0 && age < FRESH_MS) return known;
    try {
      return await this.#fetch();
    } catch (error) {
      if (known && age >= 0 && age < STALE_MS) return known;
      throw error;
    }
  }

  #fetch(): Promise<FetchedKeys> {
    const { at = Number.NEGATIVE_INFINITY, error } = this.#failed ?? {};
    const since = this.#now() - at;
    if (error && since >= 0 && since < FAILURE_MS) return Promise.reject(error);
    this.#fetching ??= this.#fetchNow().finally(() => {
      this.#fetching = undefined;
    });
    return this.#fetching;
  }

  async #fetchNow(): Promise<FetchedKeys> {
    const { issuer, name } = this.settings;
    try {
      const { createLocalJWKSet } = await import("jose");
      const path = `${issuer.replace(/\/$/, "")}/.well-known/openid-configuration`;
      const metadata = IssuerMetadata.parse(await fetchJson(path));
      if (metadata.issuer !== issuer) throw new Error(`it calls itself ${metadata.issuer.slice(0, 200)}`);
      const key = createLocalJWKSet(KeySet.parse(await fetchJson(metadata.jwks_uri)));
      this.#fetched = { metadata, key, at: this.#now() };
      this.#failed = undefined;
      return this.#fetched;
    } catch (error) {
      const message = `the issuer "${name}" does not answer as one: ${errorMessage(error)}`;
      const failed = new OidcError("unreachable", message, { cause: error });
      this.#failed = { at: this.#now(), error: failed };
      throw failed;
    }
  }

  #now(): number {
    return this.#clock.now().getTime();
  }
}

const MAX_SUBJECT = 1_024;
/** The end of a token that ends later, such as one in milliseconds: later moments are not written as others are. */
const LAST_SECOND = Date.parse("9999-01-01T00:00:00Z") / 1_000;

/** The reason of a refusal, without anything of the token. */
function refusal(error: unknown): OidcError {
  if (error instanceof OidcError) return error;
  const code = error instanceof Error && "code" in error ? String(error.code) : "invalid";
  return new OidcError("refused", `the token is not valid (${code})`, { cause: error });
}

/** Fetches a JSON document of bounded size in bounded time. Follows no redirect. */
export async function fetchJson(url: string, init: RequestInit = {}): Promise<unknown> {
  const headers = { accept: "application/json", ...init.headers };
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const response = await fetch(url, { ...init, headers, redirect: "error", signal });
  if (!response.ok) {
    await response.body?.cancel();
    throw new Error(`${new URL(url).origin} answered with ${response.status}`);
  }
  const body = response.body && (await readLimited(response.body, MAX_BYTES));
  if (!body)
    throw new Error(`${new URL(url).origin} answered with nothing, or with more than ${MAX_BYTES} bytes`);
  return parseJson(body.toString("utf8")).value;
}

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
