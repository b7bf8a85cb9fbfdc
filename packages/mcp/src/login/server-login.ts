import { timingSafeEqual } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import { type Clock, readLimited, SerialQueue } from "@reins/kit";
import { McpError } from "../faults.ts";
import type { HttpServer } from "../server-entry.ts";
import {
  handleIn,
  type LoginStore,
  type LoginTokens,
  loginAddress,
  type StoredLogin,
} from "./stored-login.ts";

type Fetch = (url: URL, init: RequestInit) => Promise<Response>;

/** What it takes to use logins. */
export interface LoginParts {
  readonly store: LoginStore;
  readonly fetch: Fetch;
  readonly clock: Clock;
}

/** How long before its end a token is no longer used. */
const MARGIN_MS = 30_000;
const MOST_BYTES = 1 << 20;
const ANSWER_MS = 30_000;

/** The logins that the servers of a gateway use; one server has one, in all sessions. */
export class ServerLogins {
  readonly #parts: Omit<LoginParts, "store"> & { readonly store: LoginStore | undefined };
  readonly #logins = new Map<string, ServerLogin>();

  constructor(parts: Omit<LoginParts, "store"> & { readonly store: LoginStore | undefined }) {
    this.#parts = parts;
  }

  /** The login that a declaration names, and the declaration without it. Throws when it may not use it. */
  async take(
    server: HttpServer,
  ): Promise<{ readonly server: HttpServer; readonly login: ServerLogin | undefined }> {
    const { handle, others } = handleIn(server);
    if (handle === undefined) return { server, login: undefined };
    const { store } = this.#parts;
    const url = loginAddress(server.url);
    const stored = await store?.read(url);
    if (!store || !stored || !isSame(stored.handle, handle)) {
      throw new McpError("invalid_server", `the MCP server ${server.name} names a login that is not its own`);
    }
    const login = this.#logins.get(url) ?? new ServerLogin(url, { ...this.#parts, store });
    this.#logins.set(url, login);
    return { server: { ...server, headers: others }, login };
  }
}

function isSame(one: string, other: string): boolean {
  const [left, right] = [Buffer.from(one), Buffer.from(other)];
  return left.length === right.length && timingSafeEqual(left, right);
}

/** Sends requests to one server with its token, and renews the token. */
export class ServerLogin {
  readonly #url: string;
  readonly #parts: LoginParts;
  readonly #secrets = new Set<string>();
  readonly #changes = new SerialQueue();
  #renewal: Promise<LoginTokens | undefined> | undefined;

  constructor(url: string, parts: LoginParts) {
    this.#url = url;
    this.#parts = parts;
  }

  /** What must not be said of it. */
  get secrets(): readonly string[] {
    return [...this.#secrets];
  }

  /** Sends a request with the token, and once more if the server takes only a newer one. */
  async send(request: (authorization: string | undefined) => Promise<Response>): Promise<Response> {
    const tokens = await this.#current();
    const response = await request(bearer(tokens));
    if (response.status !== 401 || !tokens) return response;
    const renewed = await this.#renew(tokens);
    if (!renewed) return response;
    await response.body?.cancel();
    return request(bearer(renewed));
  }

  /** Why the server turned a request down for lack of a login, if that is why; what it asked for is kept. */
  async refusal(response: Response): Promise<string | undefined> {
    if (response.status !== 401 && response.status !== 403) return undefined;
    const { extractWWWAuthenticateParams } = await import("@modelcontextprotocol/client");
    const { resourceMetadataUrl, scope, error } = extractWWWAuthenticateParams(response);
    if (response.status === 403 && error !== "insufficient_scope") return undefined;
    await response.body?.cancel();
    const wanted = {
      ...(resourceMetadataUrl && { metadata: resourceMetadataUrl.href }),
      ...(scope && { scope }),
    };
    await this.#changes.run(async () => {
      const stored = await this.#read();
      if (!stored || isDeepStrictEqual(stored.wanted, wanted)) return;
      await this.#parts.store.write(this.#url, { ...stored, wanted });
    });
    const why = response.status === 401 ? "it wants a login" : "it wants a login that allows more";
    return `${why}; the operator runs: reins mcp login ${shownAddress(this.#url)}`;
  }

  async #read(): Promise<StoredLogin | undefined> {
    const stored = await this.#parts.store.read(this.#url);
    const { tokens } = stored ?? {};
    this.#secrets.clear();
    for (const secret of [
      stored?.handle,
      tokens?.accessToken,
      tokens?.refreshToken,
      tokens?.client.client_secret,
    ])
      if (secret !== undefined) this.#secrets.add(secret);
    return stored;
  }

  async #current(): Promise<LoginTokens | undefined> {
    const { tokens } = (await this.#read()) ?? {};
    const isOver = tokens?.expiresAt !== undefined && tokens.expiresAt - MARGIN_MS <= this.#now();
    return tokens && isOver ? ((await this.#renew(tokens)) ?? tokens) : tokens;
  }

  /** Newer tokens; all who want them at the same time share one renewal. */
  #renew(old: LoginTokens): Promise<LoginTokens | undefined> {
    this.#renewal ??= this.#renewed(old).finally(() => {
      this.#renewal = undefined;
    });
    return this.#renewal;
  }

  async #renewed(old: LoginTokens): Promise<LoginTokens | undefined> {
    const { tokens: held } = (await this.#read()) ?? {};
    if (held?.accessToken !== old.accessToken) return held;
    const renewed = await this.#refresh(held);
    return this.#changes.run(async () => {
      const stored = await this.#read();
      // A login or logout came in between.
      if (stored?.tokens?.accessToken !== old.accessToken) return stored?.tokens;
      if (!renewed) return undefined;
      await this.#parts.store.write(this.#url, { ...stored, tokens: renewed });
      await this.#read();
      return renewed;
    });
  }

  async #refresh(tokens: LoginTokens): Promise<LoginTokens | undefined> {
    const { refreshToken, resource, authorizationServer, client } = tokens;
    if (refreshToken === undefined) return undefined;
    const { discoverAuthorizationServerMetadata, refreshAuthorization } = await import(
      "@modelcontextprotocol/client"
    );
    const fetchFn = guardedFetch(this.#parts.fetch);
    try {
      const metadata = await discoverAuthorizationServerMetadata(authorizationServer, { fetchFn });
      if (metadata && metadata.issuer !== tokens.issuer) return undefined;
      const answered = await refreshAuthorization(authorizationServer, {
        ...(metadata && { metadata }),
        ...(resource !== undefined && { resource }),
        ...{ clientInformation: client, refreshToken, fetchFn },
      });
      return { ...tokens, ...tokenMembers(answered, this.#now()) };
    } catch {
      // The server then says that it wants a login, which is what helps.
      return undefined;
    }
  }

  #now(): number {
    return this.#parts.clock.now().getTime();
  }
}

/** The address for people and agents; what follows a question mark may be a secret. */
function shownAddress(url: string): string {
  return new URL(url).search === "" ? url : "<its address>";
}

function bearer(tokens: LoginTokens | undefined): string | undefined {
  return tokens && `Bearer ${tokens.accessToken}`;
}

interface Tokens {
  readonly access_token: string;
  readonly refresh_token?: string | undefined;
  readonly scope?: string | undefined;
  readonly expires_in?: number | undefined;
}

/** What is kept of the tokens that an authorization server answers with. */
export function tokenMembers(tokens: Tokens, now: number) {
  const { access_token: accessToken, refresh_token: refreshToken, scope, expires_in: seconds } = tokens;
  return {
    ...{ accessToken, expiresAt: seconds === undefined ? undefined : now + seconds * 1_000 },
    ...(refreshToken !== undefined && { refreshToken }),
    ...(scope !== undefined && { scope }),
  };
}

/** Fetches for a login: bounded in time and size, and without following redirects. */
export function guardedFetch(fetch: Fetch): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (url, init = {}) => {
    const signal = AbortSignal.any([AbortSignal.timeout(ANSWER_MS), ...(init.signal ? [init.signal] : [])]);
    const { status, headers, body } = await fetch(new URL(url), { ...init, redirect: "manual", signal });
    const bytes = body ? await readLimited(body, MOST_BYTES) : Buffer.alloc(0);
    if (!bytes) throw new Error(`${new URL(url).origin} answered with more than ${MOST_BYTES} bytes`);
    const hasBody = status >= 200 && status !== 204 && status !== 205 && status !== 304;
    return new Response(hasBody ? new Uint8Array(bytes) : null, { status, headers });
  };
}
