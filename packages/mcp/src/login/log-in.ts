import { randomBytes } from "node:crypto";
import { createServer, type Server } from "node:http";
import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { isLoopback, systemClock } from "@reins/kit";
import { guardedFetch, tokenMembers } from "./server-login.ts";
import { type LoginStore, loginAddress, newHandle } from "./stored-login.ts";

/** How a person logs in to a server. */
export interface LogInOptions {
  readonly url: string;
  readonly store: LoginStore;
  /** A client that was registered beforehand, or the https address of a document about one. */
  readonly client?: { readonly id: string; readonly secret?: string | undefined } | undefined;
  /** What is asked for, in place of what the server wants. */
  readonly scope?: string | undefined;
  /** Where the answer is awaited on this machine; any free port by default. */
  readonly port?: number | undefined;
  /** Shows a person where to log in. */
  readonly open: (authorization: URL) => unknown;
  readonly signal: AbortSignal;
}

const PING = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "ping" });

/** Logs in to an MCP server in a browser, and keeps the tokens. Gives what the login allows, if that is said. */
export async function logInToServer(options: LogInOptions): Promise<string | undefined> {
  const { store, client, signal, open } = options;
  const serverUrl = loginAddress(options.url);
  const sdk = await import("@modelcontextprotocol/client");
  const fetchFn = guardedFetch((url, init) =>
    globalThis.fetch(url, {
      ...init,
      signal: AbortSignal.any([signal, ...(init.signal ? [init.signal] : [])]),
    }),
  );
  const before = await store.read(serverUrl);
  const wanted = before?.wanted ?? (await challengeOf(serverUrl, fetchFn));
  const scope = options.scope ?? sdk.computeScopeUnion(before?.tokens?.scope, wanted.scope);
  const receiver = await RedirectReceiver.open(options.port ?? 0);
  try {
    const flow = new LoginFlow(receiver.url, client);
    const asked = {
      serverUrl,
      fetchFn,
      ...(wanted.metadata !== undefined && { resourceMetadataUrl: new URL(wanted.metadata) }),
      ...(scope !== undefined && { scope }),
    };
    await sdk.auth(flow, asked);
    const authorization = flow.authorization;
    if (!authorization) throw new Error("the server named no place to log in");
    requireWeb(authorization);
    const answer = receiver.answer(flow.expectedState, signal);
    answer.catch(() => undefined);
    await open(authorization);
    const { code, iss } = await answer;
    await sdk.auth(flow, { ...asked, authorizationCode: code, ...(iss !== undefined && { iss }) });
    const tokens = flow.result(systemClock.now().getTime());
    await store.write(serverUrl, { handle: before?.handle ?? newHandle(), tokens });
    return tokens.scope;
  } finally {
    await receiver.close();
  }
}

/** What a server says it wants of who has no token. */
async function challengeOf(
  url: string,
  fetchFn: (url: string, init: RequestInit) => Promise<Response>,
): Promise<{ readonly metadata?: string; readonly scope?: string }> {
  const headers = { accept: "application/json, text/event-stream", "content-type": "application/json" };
  const response = await fetchFn(url, { method: "POST", headers, body: PING });
  if (response.ok) return {};
  const { extractWWWAuthenticateParams } = await import("@modelcontextprotocol/client");
  const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(response);
  return { ...(resourceMetadataUrl && { metadata: resourceMetadataUrl.href }), ...(scope && { scope }) };
}

/** A browser is sent to the web alone, and without encryption to this machine alone. */
function requireWeb({ protocol, hostname, origin }: URL): void {
  if (protocol === "https:" || (protocol === "http:" && isLoopback(hostname))) return;
  throw new Error(`the server wants the login to be at ${origin}, which is not encrypted`);
}

/** One login, from the address that a person opens to the tokens. Nothing of it outlives the flow but its tokens. */
class LoginFlow implements OAuthClientProvider {
  readonly redirectUrl: string;
  readonly clientMetadata: OAuthClientMetadata;
  readonly clientMetadataUrl?: string;
  readonly expectedState = randomBytes(32).toString("base64url");
  authorization: URL | undefined;
  #client: StoredOAuthClientInformation | undefined;
  #verifier = "";
  #discovery: OAuthDiscoveryState | undefined;
  #resource: string | undefined;
  #tokens: StoredOAuthTokens | undefined;

  constructor(redirectUrl: string, client: LogInOptions["client"]) {
    this.redirectUrl = redirectUrl;
    this.clientMetadata = {
      client_name: "Reins",
      redirect_uris: [redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
    };
    if (client === undefined) return;
    if (client.secret === undefined && client.id.startsWith("https://")) this.clientMetadataUrl = client.id;
    else this.#client = { client_id: client.id, client_secret: client.secret };
  }

  state(): string {
    return this.expectedState;
  }

  clientInformation(): StoredOAuthClientInformation | undefined {
    return this.#client;
  }

  saveClientInformation(client: StoredOAuthClientInformation): void {
    this.#client = client;
  }

  /** None: a login begins anew. */
  tokens(): undefined {
    return undefined;
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    this.#tokens = tokens;
  }

  redirectToAuthorization(authorization: URL): void {
    this.authorization = authorization;
  }

  saveCodeVerifier(verifier: string): void {
    this.#verifier = verifier;
  }

  codeVerifier(): string {
    return this.#verifier;
  }

  saveResourceUrl(resource: string): void {
    this.#resource = resource;
  }

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    this.#discovery = state;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.#discovery;
  }

  /** What came of it. */
  result(now: number) {
    if (!this.#tokens || !this.#client || !this.#discovery) throw new Error("the server gave no tokens");
    const { authorizationServerUrl: authorizationServer } = this.#discovery;
    const asked = this.authorization?.searchParams.get("scope") ?? undefined;
    return {
      client: this.#client,
      authorizationServer,
      issuer: this.#tokens.issuer ?? authorizationServer,
      resource: this.#resource,
      scope: asked,
      ...tokenMembers(this.#tokens, now),
    };
  }
}

interface Answer {
  readonly code: string;
  readonly iss: string | undefined;
}

/** Receives what an authorization server sends a browser back with, on this machine alone. */
class RedirectReceiver {
  readonly url: string;
  readonly #server: Server;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.url = `http://127.0.0.1:${port}/callback`;
  }

  static async open(port: number): Promise<RedirectReceiver> {
    const server = createServer();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    server.once("error", reject);
    server.listen(port, "127.0.0.1", resolve);
    await promise;
    const address = server.address();
    return new RedirectReceiver(server, typeof address === "object" && address ? address.port : port);
  }

  /** The first answer with the right state; any other is turned away. */
  answer(state: string, signal: AbortSignal): Promise<Answer> {
    const { promise, resolve, reject } = Promise.withResolvers<Answer>();
    signal.addEventListener("abort", () => reject(signal.reason), { once: true });
    this.#server.on("request", (request, response) => {
      // Any program of this machine may send anything here.
      const asked = URL.parse(request.url ?? "/", this.url);
      const given = asked?.searchParams;
      const isOurs =
        asked?.pathname === "/callback" && request.method === "GET" && given?.get("state") === state;
      const headers = { "content-type": "text/plain; charset=utf-8", "cache-control": "no-store" };
      response.writeHead(isOurs ? 200 : 404, headers);
      response.end(isOurs ? "Reins has the answer. You may close this page.\n" : "Not found\n");
      if (!isOurs) return;
      const code = given?.get("code");
      if (code) resolve({ code, iss: given?.get("iss") ?? undefined });
      else reject(new Error(`the login was refused: ${given?.get("error") ?? "no code came back"}`));
    });
    return promise;
  }

  async close(): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#server.close(() => resolve());
    this.#server.closeAllConnections();
    await promise;
  }
}
