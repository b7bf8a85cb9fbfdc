import { createServer, type IncomingMessage } from "node:http";
import {
  createSecureServer,
  Http2ServerRequest,
  Http2ServerResponse,
  type ServerHttp2Session,
} from "node:http2";
import type { Server } from "node:net";
import type { Clock } from "@reins/ahp";
import { PROBLEM_TYPE } from "@reins/api";
import type { GatewayLimits } from "../limits.ts";
import { refusalOf } from "../problems/framework-problem.ts";
import { Refusal } from "../problems/refusal.ts";
import { PROTECTION } from "./protection.ts";

/** Certificate and key in PEM. */
export interface Tls {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
}

/** What a server needs. */
export interface HttpServerOptions {
  readonly tls?: Tls | undefined;
  readonly limits: GatewayLimits;
  readonly clock: Clock;
}

/** How often connections are looked at that take too long. */
const CHECK_MS = 2_000;
/** How many requests may be under way at once on one connection of HTTP/2. */
const STREAMS = 256;

/**
 * A server that speaks HTTP/1.1 in the clear, and HTTP/2 and 1.1 where it has a certificate. Its requests and answers are
 * those of `node:http`, or over HTTP/2 what `node:http2` offers in their place.
 */
export function newHttpServer({ tls, limits, clock }: HttpServerOptions): Server {
  const settings = {
    headersTimeout: limits.headersTimeoutMs,
    requestTimeout: limits.requestTimeoutMs,
    connectionsCheckingInterval: CHECK_MS,
    // The gatekeeper asks for it, and says so in the form that all problems have.
    requireHostHeader: false,
    // Who offers anything else, such as HTTP/2 in the clear, is answered as if it had not.
    shouldUpgradeCallback: ({ headers }: IncomingMessage) => headers.upgrade?.toLowerCase() === "websocket",
  };
  if (!tls) return createServer(settings);
  const server = createSecureServer({
    ...tls,
    ...settings,
    allowHTTP1: true,
    handshakeTimeout: limits.headersTimeoutMs,
    settings: { maxConcurrentStreams: STREAMS },
  });
  // This one setting Node takes from the server itself.
  Object.assign(server, { shouldUpgradeCallback: settings.shouldUpgradeCallback });
  server.on("session", (session) => endIdle(session, limits.requestTimeoutMs));
  server.on("connect", (_, response) => {
    if (response instanceof Http2ServerResponse)
      answerWith(response, new Refusal("method_not_allowed", "this is no proxy"));
  });
  server.on("request", (request) => {
    if (request instanceof Http2ServerRequest) adapt(request, limits.requestTimeoutMs, clock);
  });
  return server;
}

/** Ends connections of HTTP/1.1 that wait for another request; those of HTTP/2 end with their last answer. */
export function closeIdleConnections(server: Server): void {
  // The types do not know that servers of HTTP/2 have it too.
  if ("closeIdleConnections" in server && typeof server.closeIdleConnections === "function")
    server.closeIdleConnections();
}

/** Ends a connection of HTTP/2 on which nothing has been under way for a while. */
function endIdle(session: ServerHttp2Session, milliseconds: number): void {
  let underWay = 0;
  session.on("stream", (stream) => {
    underWay += 1;
    stream.once("close", () => {
      underWay -= 1;
    });
  });
  session.setTimeout(milliseconds);
  session.on("timeout", () => {
    if (underWay === 0) session.close();
  });
}

/** Gives a request of HTTP/2 what Node sees to only in HTTP/1.1: the name of its host, and a time by which it has arrived. */
function adapt(request: Http2ServerRequest, milliseconds: number, clock: Clock): void {
  const { headers, stream } = request;
  const authority = headers[":authority"];
  if (typeof authority === "string") headers.host = authority;
  // Whoever reads the body is told of the error; nobody else has to be.
  request.on("error", () => undefined);
  if (stream.endAfterHeaders) return;
  const callOff = clock.after(milliseconds, () => request.destroy(refusalOf("timeout")));
  request.once("end", callOff);
  stream.once("close", callOff);
}

function answerWith(response: Http2ServerResponse, { problem, headers }: Refusal): void {
  response.writeHead(problem.status, { ...PROTECTION, ...headers, "content-type": PROBLEM_TYPE });
  response.end(JSON.stringify(problem));
}
