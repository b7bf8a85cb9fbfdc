import type { IncomingMessage } from "node:http";
import { isIPv6 } from "node:net";
import { type Credential, credentialInHeaders, originFault, upgradeCredential } from "@reins/ahp";
import type { Audience } from "@reins/api";
import { type Clock, errorMessage, LruCache } from "@reins/kit";
import { DEFAULT_TENANT, type Harness, isAdmin, type Principal } from "@reins/supervisor";
import { linkedCaller } from "../cluster/link-headers.ts";
import type { ListenerContext } from "../gateway/listener.ts";
import { pathOf } from "../gateway/request.ts";
import type { Log } from "../limits.ts";
import { HttpProblem, toHttpProblem } from "../problems.ts";
import { type Access, LOCAL } from "./access.ts";
import { cookieFault, cookieIn } from "./logins.ts";
import { OidcError } from "./oidc/issuer.ts";
import type { Oidc } from "./oidc/oidc.ts";

/** The sender of a request: the id of a principal of `Identity`. */
export interface Caller {
  readonly id: string;
  /** Its tenant, where that is known already. */
  readonly tenant?: string | undefined;
  /** When its credential expires, in milliseconds, if it does; its streams and connections end then. */
  readonly until?: number;
}

/** Runs a callback once the credential of a caller has expired; returns a function that cancels it. */
export function onceExpired({ until }: Caller, clock: Clock, run: () => void): () => void {
  if (until === undefined) return () => {};
  let cancel = () => {};
  const check = () => {
    const left = until - clock.now().getTime();
    if (left <= 0) run();
    else cancel = clock.after(left, check);
  };
  check();
  return () => cancel();
}

export interface RequestAuthenticatorOptions {
  readonly access: Access;
  readonly oidc: Oidc;
  readonly harness: () => Promise<Harness>;
  readonly clock: Clock;
  readonly limits: FailedAttemptLimits;
  readonly log: Log;
}

export interface AuthenticateOptions {
  /** Whether the request upgrades its connection to another protocol. */
  readonly upgrades?: boolean;
  /** Finds the caller behind a request without a credential; without it such a request is rejected. */
  readonly anonymous?: ((address: string | undefined) => Promise<Caller | undefined>) | undefined;
}

/** Authenticates requests. Rejects with an {@link HttpProblem}. */
export class RequestAuthenticator {
  readonly #options: RequestAuthenticatorOptions;
  readonly #failures: FailedAttempts;
  /**
   * Tokens that were valid, with their caller: that of a start token stays the same while this process runs, that of
   * another is looked up as it is now. The lookup compares a guess only on equal hashes, whose seed is secret, so its
   * timing reveals nothing.
   */
  readonly #known = new LruCache<string, Caller>({ entries: MOST_KNOWN });

  constructor(options: RequestAuthenticatorOptions) {
    this.#options = options;
    this.#failures = new FailedAttempts(options.clock, options.limits);
  }

  /** Rejects a request for another host, or from another origin. */
  checkOrigin(request: IncomingMessage, { rules }: ListenerContext): void {
    if (!rules) return;
    const unclear = hostFault(request);
    if (unclear) throw new HttpProblem("invalid", unclear);
    const fault = originFault(request, rules);
    if (fault) throw new HttpProblem("forbidden", fault);
  }

  /** Returns the sender of a request or upgrade; synchronously when the identity is not needed. */
  authenticate(
    request: IncomingMessage,
    context: ListenerContext,
    { upgrades = false, anonymous }: AuthenticateOptions = {},
  ): Caller | Promise<Caller> {
    if (context.operator) return OPERATOR;
    const linked = context.link ? linkedCaller(request) : undefined;
    if (linked) return linked;
    const shown = upgrades ? upgradeCredential(request, true) : credentialInHeaders(request);
    const credential = shown ?? passwordOf(request);
    if (credential) return this.#ofToken(credential, request);
    const login = cookieIn(request, this.#options.access.cookie);
    if (login !== undefined) return this.#ofLogin(login, request, upgrades);
    return this.#ofAnonymous(request, anonymous);
  }

  /** Whether a request has a login that is not known here; another node may have begun it. */
  hasUnknownLogin(request: IncomingMessage, context: ListenerContext): boolean {
    if (context.operator || credentialInHeaders(request)) return false;
    const login = cookieIn(request, this.#options.access.cookie);
    return login !== undefined && this.#options.access.ofLogin(login) === undefined;
  }

  /** The problem for a wrong credential; after too many, `too_many_requests`. */
  failedAttempt(request: IncomingMessage, detail: string): HttpProblem {
    const address = request.socket.remoteAddress ?? "unknown";
    const wait = this.#failures.note(address);
    if (wait !== undefined) {
      const headers = { "retry-after": String(wait) };
      return new HttpProblem("too_many_requests", `too many wrong credentials; wait ${wait} s`, { headers });
    }
    this.#options.log.info({ address, path: pathOf(request) }, "rejected: wrong credential");
    return new HttpProblem("unauthenticated", detail, ASK);
  }

  #ofToken({ value }: Credential, request: IncomingMessage): Caller | Promise<Caller> {
    const known = this.#known.get(value);
    if (known) return known.tenant === undefined ? known : this.#ofKnown(value, known, request);
    const id = this.#options.access.ofToken(value);
    if (id === undefined)
      return this.#options.oidc.mayBeToken(value)
        ? this.#ofIssuer(value, request)
        : this.#ofIdentity(value, request);
    const caller = { id };
    this.#known.set(value, caller);
    return caller;
  }

  /** The caller of a token that was valid, if it still is. */
  async #ofKnown(secret: string, { id }: Caller, request: IncomingMessage): Promise<Caller> {
    const { identity } = await this.#options.harness().catch(untold);
    const found = await identity.current({ id }).catch(untold);
    if (found) return { id, tenant: found.tenant };
    this.#known.delete(secret);
    return this.#ofIdentity(secret, request);
  }

  async #ofIdentity(secret: string, request: IncomingMessage): Promise<Caller> {
    const found = await this.#principalOf(secret);
    if (found) {
      const caller = { id: found.id, tenant: found.tenant };
      this.#known.set(secret, caller);
      return caller;
    }
    throw this.failedAttempt(request, "the token is not known, was revoked or has expired");
  }

  async #ofIssuer(token: string, request: IncomingMessage): Promise<Caller> {
    const { identity } = await this.#options.harness().catch(untold);
    try {
      const { principal, until } = await this.#options.oidc.admit(token, identity);
      return { id: principal.id, tenant: principal.tenant, until: until.getTime() };
    } catch (error) {
      throw this.oidcProblem(error, request);
    }
  }

  /** The problem for a refused login or token of an issuer. */
  oidcProblem(error: unknown, request: IncomingMessage): unknown {
    if (!(error instanceof OidcError)) return error;
    if (error.code === "refused") return this.failedAttempt(request, error.message);
    this.#options.log.warn({ err: error }, "an issuer does not answer");
    const headers = { "retry-after": "10" };
    return new HttpProblem("unavailable", "the issuer does not answer now; the log says why", { headers });
  }

  async #principalOf(secret: string): Promise<Principal | undefined> {
    try {
      const { identity } = await this.#options.harness();
      return await identity.authenticate(secret);
    } catch (error) {
      return untold(error);
    }
  }

  #ofLogin(login: string, request: IncomingMessage, upgrades: boolean): Caller {
    const found = this.#options.access.ofLogin(login);
    if (!found) throw new HttpProblem("unauthenticated", "the login has ended; log in again", ASK);
    const fault = cookieFault(request, upgrades);
    if (fault) throw new HttpProblem("forbidden", fault);
    return { id: found.principal, tenant: found.tenant, until: found.expires };
  }

  async #ofAnonymous(request: IncomingMessage, anonymous: AuthenticateOptions["anonymous"]): Promise<Caller> {
    const known = await anonymous?.(addressOf(request));
    if (known) return known;
    throw new HttpProblem("unauthenticated", "a bearer token, an x-api-key or a login is needed", ASK);
  }
}

/** The token that a client of OpenCode sends as its password. */
function passwordOf(request: IncomingMessage): Credential | undefined {
  if (!pathOf(request).startsWith("/opencode/")) return undefined;
  const encoded = /^Basic +([A-Za-z0-9+/=]+)$/i.exec(request.headers.authorization ?? "")?.[1] ?? "";
  const [, value = ""] = /^[^:]*:(.+)$/.exec(Buffer.from(encoded, "base64").toString()) ?? [];
  return value === "" ? undefined : { kind: "bearer", value };
}

/** An unauthenticated client does not learn why tokens cannot be checked. */
function untold(cause: unknown): never {
  throw new HttpProblem("unavailable", "tokens cannot be checked now; the log says why", { cause });
}

/** Explains why the host of a request is ambiguous; a proxy may have read another one. */
function hostFault({ headers, rawHeaders, url = "/" }: IncomingMessage): string | undefined {
  const { host } = headers;
  if (host === undefined) return "a request names the host it is for";
  const named = rawHeaders.filter(
    (_, index) => index % 2 === 1 && rawHeaders[index - 1]?.toLowerCase() === "host",
  );
  if (named.length > 1) return "a request names one host, not several";
  if (named[0] !== undefined && named[0] !== host) return "a request names one host, not two";
  if (url.startsWith("/") || url === "*") return undefined;
  const { host: addressed } = URL.parse(url) ?? {};
  return addressed === host.toLowerCase()
    ? undefined
    : "the address of a request names another host than its header";
}

const OPERATOR: Caller = { id: LOCAL };

const FORWARDED = ["forwarded", "x-forwarded-for", "x-real-ip"] as const;

/** The address of a client; undefined behind a proxy, where it could be any. */
function addressOf({ headers, socket }: IncomingMessage): string | undefined {
  return FORWARDED.some((name) => headers[name] !== undefined) ? undefined : socket.remoteAddress;
}

const ASK = { headers: { "www-authenticate": "Bearer" } };

/** The most valid tokens to remember; the least recently used is looked up again. */
const MOST_KNOWN = 10_000;
/** The most addresses to remember; the least recent is evicted. */
const MOST_ADDRESSES = 10_000;

/** The burst of wrong credentials allowed per address, and the time until one more is. */
export interface FailedAttemptLimits {
  readonly failures: number;
  readonly failureMs: number;
}

/**
 * Rate-limits wrong credentials by address. A right one always passes, so no client can lock out another: secrets
 * have 256 bits.
 */
export class FailedAttempts {
  readonly #clock: Clock;
  readonly #limits: FailedAttemptLimits;
  /** When the count of each address returns to zero, in milliseconds. */
  readonly #clearAt = new Map<string, number>();

  constructor(clock: Clock, limits: FailedAttemptLimits) {
    this.#clock = clock;
    this.#limits = limits;
  }

  /** Records a failed attempt. Returns the seconds to wait when the limit is exceeded. */
  note(address: string): number | undefined {
    const { failures, failureMs } = this.#limits;
    const now = this.#clock.now().getTime();
    const key = networkOf(address);
    // Clamped, in case the clock was changed.
    const clearAt = Math.min(Math.max(this.#clearAt.get(key) ?? now, now), now + failures * failureMs);
    const over = clearAt - now - (failures - 1) * failureMs;
    this.#clearAt.delete(key);
    this.#clearAt.set(key, over > 0 ? clearAt : clearAt + failureMs);
    const [quietest] = this.#clearAt.keys();
    if (this.#clearAt.size > MOST_ADDRESSES && quietest !== undefined) this.#clearAt.delete(quietest);
    return over > 0 ? Math.ceil(over / 1_000) : undefined;
  }
}

/** One client controls a whole /64 of IPv6 addresses. */
function networkOf(address: string): string {
  if (!isIPv6(address) || address.includes(".")) return address;
  const [head = "", tail] = address.split("::");
  const groups = head.split(":");
  return (tail === undefined ? groups : [...groups, "0", "0", "0", "0"]).slice(0, 4).join(":");
}

/** The open harness and the current principal of a caller. */
export interface Authorized {
  readonly harness: Harness;
  readonly principal: Principal;
}

/** Waits for the harness and finds the principal with an id in it. */
export async function authorize(open: () => Promise<Harness>, id: string): Promise<Authorized> {
  const harness = await required(open);
  const principal = await harness.identity.current({ id }).catch((error: unknown) => {
    throw toHttpProblem(error);
  });
  if (principal) return { harness, principal };
  throw new HttpProblem("unauthenticated", "the token was revoked or has expired");
}

/** Waits for a service; rejects with its reason where it is not available. */
export async function required<Service>(open: () => Promise<Service>): Promise<Service> {
  try {
    return await open();
  } catch (error) {
    throw new HttpProblem("unavailable", errorMessage(error), { cause: error });
  }
}

/** Rejects a principal that does not belong to an audience. */
export function requireAudience(audience: Audience, principal: Principal): void {
  const why = exclusion(audience, principal);
  if (why !== undefined) throw new HttpProblem("forbidden", why);
}

/** The principal as it is now; undefined once it may no longer make the call. */
export async function currentPrincipal(
  audience: Audience,
  { harness, principal }: Authorized,
): Promise<Principal | undefined> {
  const now = await harness.identity.current(principal);
  if (now?.tenant !== principal.tenant) return undefined;
  return exclusion(audience, now) === undefined ? now : undefined;
}

/** Why a principal does not belong to an audience. */
function exclusion(audience: Audience, principal: Principal): string | undefined {
  const manages = audience === "admin" || audience === "server";
  if (principal.kind === "agent" && (audience === "person" || manages))
    return "an agent may not ask for this; a person has to";
  if (manages && !isAdmin(principal)) return `${principal.user} may not do that: it takes the role "admin"`;
  if (audience === "server" && principal.tenant !== DEFAULT_TENANT)
    return `${principal.user} may not do that: all tenants share it, so it takes an admin of the default tenant`;
  return undefined;
}
