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

/** The most concurrent requests on an HTTP/2 connection. */
const STREAMS = 256;

/**
 * Creates a TLS server for HTTP/2 and 1.1. Over HTTP/2, requests and responses are the compatibility objects of
 * `node:http2`.
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
  // Node reads this setting only from the server object.
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

/** Closes an HTTP/2 connection after an idle timeout. */
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

/** Adds to an HTTP/2 request what Node does only for HTTP/1.1: the host header and a timeout for its arrival. */
function adapt(request: Http2ServerRequest, milliseconds: number, clock: Clock): void {
  const { headers, stream } = request;
  const authority = headers[":authority"];
  if (typeof authority === "string") headers.host = authority;
  // The reader of the body gets the error.
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
