import { createServer, type IncomingMessage } from "node:http";
import type { Server } from "node:net";
import type { GatewayLimits } from "../limits.ts";

/** How often connections are looked at that take too long. */
const CHECK_MS = 2_000;

/** How HTTP/1.1 is spoken, in the clear or not. */
export function httpSettings({ headersTimeoutMs, requestTimeoutMs }: GatewayLimits) {
  return {
    headersTimeout: headersTimeoutMs,
    requestTimeout: requestTimeoutMs,
    connectionsCheckingInterval: CHECK_MS,
    // The gatekeeper asks for it, and says so in the form that all problems have.
    requireHostHeader: false,
    // Who offers anything else, such as HTTP/2 in the clear, is answered as if it had not.
    shouldUpgradeCallback: ({ headers }: IncomingMessage) => headers.upgrade?.toLowerCase() === "websocket",
  };
}

/** A server that speaks HTTP/1.1 in the clear. */
export function newHttpServer(limits: GatewayLimits): Server {
  return createServer(httpSettings(limits));
}

/** Ends connections of HTTP/1.1 that wait for another request; those of HTTP/2 end with their last answer. */
export function closeIdleConnections(server: Server): void {
  // The types do not know that servers of HTTP/2 have it too.
  if ("closeIdleConnections" in server && typeof server.closeIdleConnections === "function")
    server.closeIdleConnections();
}
