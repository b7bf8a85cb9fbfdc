import { hash, timingSafeEqual } from "node:crypto";
import { type IncomingMessage, validateHeaderValue } from "node:http";
import { AhpError } from "../errors.ts";
import type { AuthConfig } from "../protocol/messages.ts";
import type { Awaitable } from "../server/handlers.ts";

/** Finds the principal of a credential; `undefined` rejects the peer. */
export type Authenticator = (credential: Credential | undefined) => Awaitable<string | undefined>;

/** A secret and its principal. */
export interface Token {
  readonly principal: string;
  readonly secret: string;
}

/** Authenticates by a fixed set of secrets, as bearer tokens or API keys. Takes the same time for any guess. */
export function knownTokens(
  tokens: readonly Token[],
): (credential: Credential | undefined) => string | undefined {
  const known = tokens.map(({ principal, secret }) => ({ principal, digest: digest(secret) }));
  return (credential) => {
    if (!credential) return undefined;
    const shown = digest(credential.value);
    let holder: string | undefined;
    for (const { principal, digest: secret } of known) if (timingSafeEqual(secret, shown)) holder = principal;
    return holder;
  };
}

function digest(secret: string): Buffer {
  return hash("sha256", secret, "buffer");
}

/** A peer's credential. */
export interface Credential {
  readonly kind: "bearer" | "api_key";
  readonly value: string;
}

/** The subprotocol without a credential; a client that sends one in another offers this too. */
export const SUBPROTOCOL = "ahp";

const SUBPROTOCOL_PREFIX = { bearer: "ahp.bearer.", api_key: "ahp.api-key." } as const;

/** A credential as a WebSocket subprotocol, for clients that cannot set headers. */
export function asSubprotocol({ kind, value }: Credential): string {
  return SUBPROTOCOL_PREFIX[kind] + Buffer.from(value).toString("base64url");
}

/** The credential in the headers of a request. */
export function credentialInHeaders({ headers }: Pick<IncomingMessage, "headers">): Credential | undefined {
  const bearer = /^Bearer +(.+)$/i.exec(headers.authorization ?? "")?.[1];
  if (bearer !== undefined) return { kind: "bearer", value: bearer };
  const key = headers["x-api-key"];
  return typeof key === "string" ? { kind: "api_key", value: key } : undefined;
}

/** The credential of a WebSocket client: in a header, a subprotocol or the query. */
export function upgradeCredential(
  request: Pick<IncomingMessage, "headers" | "url">,
  inQuery: boolean,
): Credential | undefined {
  const shown = credentialInHeaders(request) ?? credentialInSubprotocols(request);
  return shown ?? (inQuery ? credentialInQuery(request) : undefined);
}

/** The credential among the subprotocols that a WebSocket client offers. */
export function credentialInSubprotocols({
  headers,
}: Pick<IncomingMessage, "headers">): Credential | undefined {
  for (const offered of (headers["sec-websocket-protocol"] ?? "").split(",").map((name) => name.trim())) {
    for (const kind of ["bearer", "api_key"] as const) {
      const prefix = SUBPROTOCOL_PREFIX[kind];
      if (!offered.startsWith(prefix)) continue;
      return { kind, value: Buffer.from(offered.slice(prefix.length), "base64url").toString() };
    }
  }
  return undefined;
}

/** The credential in the URL, where upstream's WebSocket clients put it. */
export function credentialInQuery({ url }: Pick<IncomingMessage, "url">): Credential | undefined {
  const query = new URLSearchParams(url?.split("?", 2)[1] ?? "");
  const token = query.get("token") ?? query.get("access_token");
  if (token !== null) return { kind: "bearer", value: token };
  const key = query.get("api_key");
  return key === null ? undefined : { kind: "api_key", value: key };
}

/** A credential as HTTP headers; refuses one that no header can hold. */
export function authHeaders({ kind, value }: Credential): Record<string, string> {
  const [name, text, called] =
    kind === "bearer"
      ? ["authorization", `Bearer ${value}`, "bearer token"]
      : ["x-api-key", value, "API key"];
  try {
    validateHeaderValue(name, text);
  } catch (error) {
    throw new AhpError("authentication", `Invalid ${called}`, { cause: error });
  }
  return { [name]: text };
}

/** The credential of an authentication setting; throws for methods that are not implemented. */
export function credentialOf(auth: AuthConfig | undefined): Credential | undefined {
  const method = auth?.method ?? { type: "none" };
  switch (method.type) {
    case "none":
      return undefined;
    case "api_key":
      return { kind: "api_key", value: method.key };
    case "bearer":
      return { kind: "bearer", value: method.token };
    case "mutual_tls":
      throw new AhpError("unsupported", "mutual TLS is not implemented; use a bearer token or an API key");
    case "o_auth":
      throw new AhpError("unsupported", "OAuth is not implemented; use a bearer token or an API key");
  }
}

/** The host names of a server, and the web pages that may connect to it. */
export interface OriginRules {
  /** Host names that requests may be addressed to, without port. */
  readonly allowedHosts?: readonly string[];
  /** Origins of web pages that may connect, such as `https://console.example`. */
  readonly allowedOrigins?: readonly string[];
}

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Why a request must be rejected, if so. A web page can reach a server on this machine through the browser; its
 * `Origin` reveals it, and after DNS rebinding its `Host`.
 */
export function originFault(
  { headers }: Pick<IncomingMessage, "headers">,
  rules: OriginRules,
): string | undefined {
  const allowedHosts = [...LOOPBACK, ...(rules.allowedHosts ?? [])];
  const host = headers.host?.toLowerCase();
  if (host !== undefined && !allowedHosts.includes(withoutPort(host))) {
    return `This server does not answer for the host ${host}`;
  }
  const origin = headers.origin?.toLowerCase();
  if (origin === undefined || rules.allowedOrigins?.includes(origin)) return undefined;
  if (host !== undefined && (origin === `http://${host}` || origin === `https://${host}`)) return undefined;
  return `Pages of ${origin} may not speak to this server`;
}

function withoutPort(host: string): string {
  return host.replace(/:\d+$/, "");
}
