import type { IncomingMessage } from "node:http";

/** Which names a server goes by, and which web pages may speak to it. */
export interface OriginRules {
  /** Host names that requests may be addressed to, without port. */
  readonly allowedHosts?: readonly string[];
  /** Origins of web pages that may connect, such as `https://console.example`. */
  readonly allowedOrigins?: readonly string[];
}

const LOOPBACK = ["localhost", "127.0.0.1", "[::1]"];

/**
 * Why a request must not be served, if so. A page on the web reaches a server on this machine through the browser:
 * its `Origin` gives it away, and after DNS rebinding its `Host`.
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
