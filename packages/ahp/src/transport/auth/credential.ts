import type { IncomingMessage } from "node:http";

/** What a peer shows to prove who it is. */
export interface Credential {
  readonly kind: "bearer" | "api_key";
  readonly value: string;
}

/** The subprotocol that carries no credential; a client that sends one in another offers this as well. */
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

/** The credential of a WebSocket client, wherever such a client can put one. */
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
  const token = query.get("token");
  if (token !== null) return { kind: "bearer", value: token };
  const key = query.get("api_key");
  return key === null ? undefined : { kind: "api_key", value: key };
}
