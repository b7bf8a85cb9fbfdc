import type { OriginRules } from "@reins/ahp";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { AllowedMethods } from "./allowed-methods.ts";
import { pathOf } from "./path.ts";

const HEADERS =
  "acp-connection-id, acp-session-id, authorization, content-type, last-event-id, prefer, x-acp-connection-id, x-api-key";
const EXPOSED = "acp-connection-id, preference-applied, x-acp-connection-id";
const LIFETIME_S = "600";

/**
 * Lets the pages that an operator named read answers. They never come with a cookie, so they need a token. Says whether
 * the request only asked for permission and is answered with that.
 */
export function shareWith(
  request: FastifyRequest,
  reply: FastifyReply,
  { allowedOrigins = [] }: OriginRules,
  allowed: AllowedMethods,
): boolean {
  if (allowedOrigins.length === 0) return false;
  reply.raw.setHeader("vary", "origin");
  const { origin } = request.headers;
  if (origin === undefined || !allowedOrigins.includes(origin.toLowerCase())) return false;
  reply.raw.setHeader("access-control-allow-origin", origin);
  reply.raw.setHeader("access-control-expose-headers", EXPOSED);
  reply.raw.setHeader("cross-origin-resource-policy", "cross-origin");
  if (request.method !== "OPTIONS" || !request.headers["access-control-request-method"]) return false;
  reply.raw.setHeader("access-control-allow-methods", allowed.of(pathOf(request.raw)).join(", "));
  reply.raw.setHeader("access-control-allow-headers", HEADERS);
  reply.raw.setHeader("access-control-max-age", LIFETIME_S);
  return true;
}
