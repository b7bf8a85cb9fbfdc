import type { IncomingMessage } from "node:http";
import type { OriginRules } from "@reins/ahp";
import { PROBLEM_TYPE } from "@reins/api";
import { isClosed, rateHeaders } from "@reins/kit";
import { LOCAL, type Quotas } from "@reins/supervisor";
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from "fastify";
import type { Caller, RequestAuthenticator } from "../access/authenticator.ts";
import type { Cluster } from "../cluster/cluster.ts";
import { NODE_DIRECT } from "../cluster/link-headers.ts";
import type { GatewayLimits, Log } from "../limits.ts";
import { frameworkProblem, HttpProblem, httpProblem, setSecurityHeaders } from "../problems.ts";
import { type ListenerContext, listenerContextOf } from "./listener.ts";
import { type IncomingBodies, JSON_TYPES, pathOf } from "./request.ts";

export interface ApplicationOptions {
  readonly authenticator: RequestAuthenticator;
  readonly quotas: Quotas;
  readonly allowed: AllowedMethods;
  readonly limits: GatewayLimits;
  readonly bodies: IncomingBodies;
  readonly log: Log;
  /** Passes requests on to the nodes that serve them, where there are several. */
  readonly cluster?: Cluster | undefined;
  /** Receives every answered request. */
  readonly onAnswered?: ((answered: AnsweredRequest) => void) | undefined;
}

/** An answered request, without its query and body. */
export interface AnsweredRequest {
  readonly method: string;
  /** The path template of the route; null without a route. */
  readonly route: string | null;
  readonly path: string;
  readonly status: number;
  /** From its arrival to the end of the response. */
  readonly ms: number;
  readonly principal: string | null;
  /** Whether the response is a stream, whose duration is not a latency. */
  readonly streams: boolean;
}

declare module "fastify" {
  interface FastifyRequest {
    /** The authenticated sender; null on public routes. */
    caller: Caller | null;
  }
}

const MAX_PARAMETER = 1_024;

/** Creates the router that authenticates every request and maps errors to problems. */
export function newApplication(options: ApplicationOptions): FastifyInstance {
  const { limits, bodies, log } = options;
  const application = fastify({
    logger: false,
    return503OnClosing: false,
    routerOptions: { maxParamLength: MAX_PARAMETER },
    // The API's schemas validate; loading a second validator and a serializer would dominate the start.
    schemaController: { compilersFactory: { buildValidator: noCompiler, buildSerializer: noCompiler } },
    frameworkErrors: (error, _request, reply) => sendProblem(error, reply, log),
  });
  application.decorateRequest("caller", null);
  application.removeAllContentTypeParsers();
  application.addContentTypeParser(JSON_TYPES, (request: FastifyRequest) =>
    bodies.read(request, limits.maxBodyBytes),
  );
  application.addHook("onRequest", (request, reply, done) => enter(request, reply, options, done));
  application.addHook("onResponse", (request, reply, done) => {
    const answered = answeredRequest(request, reply);
    log.debug(answered, "answered");
    options.onAnswered?.(answered);
    done();
  });
  application.setErrorHandler((error, _request, reply) => sendProblem(error, reply, log));
  return application;
}

function noCompiler(): never {
  throw new Error("routes have no schemas but those of the API");
}

function answeredRequest(request: FastifyRequest, reply: FastifyReply): AnsweredRequest {
  const { url, config } = request.routeOptions;
  const route = config.operation?.path ?? url ?? null;
  return {
    method: request.method,
    route: request.is404 ? null : route,
    path: pathOf(request.raw),
    status: reply.raw.statusCode,
    ms: Math.round(reply.elapsedTime * 1_000) / 1_000,
    principal: request.caller?.id ?? null,
    streams: config.operation?.events !== undefined,
  };
}

/** Checks origin, CORS, credentials and route before a handler runs. */
function enter(
  request: FastifyRequest,
  reply: FastifyReply,
  { authenticator, allowed, quotas, cluster }: ApplicationOptions,
  done: (error?: Error) => void,
): void {
  const { raw } = request;
  const context = listenerContextOf(raw);
  const { operation, open = false, wholeHead = false } = request.routeOptions.config;
  if (!wholeHead) setSecurityHeaders(reply.raw);
  authenticator.checkOrigin(raw, context);
  if (context.rules && applyCors(request, reply, context.rules, allowed)) {
    reply.code(204).send();
    return;
  }
  const ofLogins = operation?.node === "logins";
  const admit = (caller: Caller | null) => {
    // The operator has no quota.
    if (caller && caller.id !== LOCAL) {
      const left = quotas.take("requests", caller);
      if (left) reply.headers(rateHeaders("requests", left));
      const release = quotas.hold("open_requests", caller);
      // One that is answered before all of it has come is still under way.
      const answered = () => (raw.complete ? release() : raw.once("close", release));
      if (isClosed(reply.raw)) release();
      else reply.raw.once("close", answered);
    }
    done(request.is404 ? absent(allowed.of(pathOf(raw))) : undefined);
  };
  /** Answers it here, unless another node serves it. */
  const passOrAdmit = async (among: Cluster, caller: Caller | null) => {
    const isPassed = await among.forward({ request: raw, caller: caller ?? undefined, ofLogins }, reply.raw);
    if (isPassed) reply.hijack();
    else admit(caller);
  };
  const authenticated = (caller: Caller | null) => {
    request.caller = caller;
    if (caller) context.unauthenticated?.remove(raw.socket);
    if (cluster && caller && operation?.node !== "any" && !request.is404 && !isDirect(raw, context))
      passOrAdmit(cluster, caller).catch(done);
    else admit(caller);
  };
  const isPublic = open || operation?.audience === "anyone";
  // The node of the operator's tenant knows the logins of all.
  if (cluster && (ofLogins ? isPublic : !isPublic && authenticator.hasUnknownLogin(raw, context))) {
    cluster
      .forward({ request: raw, ofLogins: true }, reply.raw)
      .then(async (isPassed) => {
        if (isPassed) {
          reply.hijack();
          return;
        }
        request.caller = isPublic ? null : await authenticator.authenticate(raw, context);
        admit(request.caller);
      })
      .catch(done);
    return;
  }
  const caller = isPublic ? null : authenticator.authenticate(raw, context);
  if (caller instanceof Promise) caller.then(authenticated).catch(done);
  else authenticated(caller);
}

/** Whether another node wants this one to answer. */
function isDirect({ headers }: IncomingMessage, { link = false }: ListenerContext): boolean {
  return link && headers[NODE_DIRECT] !== undefined;
}

function absent(methods: readonly string[]): HttpProblem {
  if (methods.length === 0) return new HttpProblem("not_found", "there is nothing here");
  const allow = methods.join(", ");
  return new HttpProblem("method_not_allowed", `this takes ${allow}`, { headers: { allow } });
}

/** Responds with a problem. An internal error is logged and not disclosed; that a client has left is none. */
function sendProblem(error: unknown, reply: FastifyReply, log: Log): FastifyReply {
  const { raw } = reply.request;
  const known = frameworkProblem(error);
  if (!known && error === raw.errored)
    log.debug({ path: pathOf(raw) }, "a client left before its request had ended");
  else if (!known) log.error({ err: error, path: pathOf(raw) }, "a request failed");
  const { problem, headers } = known ?? httpProblem("internal");
  setSecurityHeaders(reply.raw);
  // Fastify closes the connection of an unread body; over HTTP/2 only the stream ends.
  if (raw.httpVersionMajor > 1) reply.removeHeader("connection");
  return reply
    .code(problem.status)
    .headers({ ...headers, "content-type": PROBLEM_TYPE })
    .send(Buffer.from(JSON.stringify(problem)));
}

/** The methods of each path, for 405 responses and CORS. */
export class AllowedMethods {
  readonly #methods = new Map<string, Set<string>>();

  /** Adds methods of a path. A segment that begins with a colon matches any. */
  add(path: string, methods: readonly string[]): void {
    const known = this.#methods.get(path) ?? new Set();
    for (const method of methods) known.add(method);
    this.#methods.set(path, known);
  }

  /** The methods of a path; none for an unknown path. */
  of(path: string): readonly string[] {
    const segments = path.split("/");
    const found = [...this.#methods].filter(([pattern]) => matches(pattern.split("/"), segments));
    return [...new Set(found.flatMap(([, methods]) => [...methods]))].sort();
  }
}

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  if (pattern.length !== segments.length) return false;
  return pattern.every(
    (part, index) => part === segments[index] || (part.startsWith(":") && segments[index] !== ""),
  );
}

const HEADERS =
  "acp-connection-id, acp-session-id, authorization, content-type, last-event-id, prefer, x-acp-connection-id, x-api-key";
const EXPOSED = "acp-connection-id, preference-applied, x-acp-connection-id";
const LIFETIME_S = "600";

/**
 * Adds CORS headers for the origins that the operator allows; their requests carry no cookie, so they need a token.
 * Returns whether the request was a preflight.
 */
function applyCors(
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
