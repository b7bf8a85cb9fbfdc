import {
  createSecureServer,
  Http2ServerRequest,
  Http2ServerResponse,
  type ServerHttp2Session,
} from "node:http2";
import type { Server } from "node:net";
import { PROBLEM_TYPE } from "@reins/api";
import type { Clock } from "@reins/kit";
import type { GatewayLimits } from "../limits.ts";
import { HttpProblem, httpProblem, SECURITY_HEADERS } from "../problems.ts";
import { httpSettings } from "./listener.ts";

/** Certificate and key in PEM. */
export interface Tls {
  readonly cert: string | Buffer;
  readonly key: string | Buffer;
}

/** How many requests may be under way at once on one connection of HTTP/2. */
const STREAMS = 256;

/**
 * A server that speaks HTTP/2 and 1.1 over TLS. Its requests and answers are those of `node:http`, or over HTTP/2 what
 * `node:http2` offers in their place.
 */
export function newTlsServer(tls: Tls, limits: GatewayLimits, clock: Clock): Server {
  const settings = httpSettings(limits);
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
      answerWith(response, new HttpProblem("method_not_allowed", "this is no proxy"));
  });
  for (const event of ["request", "checkExpectation"])
    server.on(event, (request: unknown) => {
      if (request instanceof Http2ServerRequest) adapt(request, limits.requestTimeoutMs, clock);
    });
  return server;
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
  const cancel = clock.after(milliseconds, () => request.destroy(httpProblem("timeout")));
  request.once("end", cancel);
  stream.once("close", cancel);
}

function answerWith(response: Http2ServerResponse, { problem, headers }: HttpProblem): void {
  response.writeHead(problem.status, { ...SECURITY_HEADERS, ...headers, "content-type": PROBLEM_TYPE });
  response.end(JSON.stringify(problem));
}
