import { Buffer } from "node:buffer";
import type { OutgoingHttpHeader } from "node:http";
import { Readable } from "node:stream";
import { Nothing, type Operation } from "@reins/api";
import { type Clock, isClosed, SseWriter } from "@reins/kit";
import type { Harness, Quotas } from "@reins/supervisor";
import type { FastifyInstance, FastifyReply, FastifyRequest, RouteHandlerMethod } from "fastify";
import {
  authorize,
  type Caller,
  currentPrincipal,
  onceExpired,
  requireAudience,
} from "../access/authenticator.ts";
import type { AllowedMethods } from "../gateway/application.ts";
import { liftArrivalTimeout, listenerContextOf } from "../gateway/listener.ts";
import {
  accepts,
  arrivingBytes,
  type IncomingBodies,
  JSON_TYPES,
  readCall,
  requireAccepted,
} from "../gateway/request.ts";
import type { Upgrades } from "../gateway/upgrades.ts";
import type { GatewayLimits, Log } from "../limits.ts";
import { callerProblems, HttpProblem, mapErrors, SECURITY_HEADERS, toHttpProblem } from "../problems.ts";
import type { LongPollCall, OperationCall, RawResponse, Router } from "./router.ts";

declare module "fastify" {
  interface FastifyContextConfig {
    operation?: Operation;
    /** Whether it needs no credential. */
    open?: boolean;
    /** Whether its handler writes the security headers itself. */
    wholeHead?: boolean;
  }
}

export interface OperationRouterOptions {
  readonly harness: () => Promise<Harness>;
  readonly quotas: Quotas;
  readonly clock: Clock;
  readonly limits: GatewayLimits;
  readonly bodies: IncomingBodies;
  readonly log: Log;
  readonly allowed: AllowedMethods;
  readonly upgrades: Upgrades;
  /** Collects the registered operations. */
  readonly operations: Operation[];
}

interface RouteOptions {
  readonly router?: FastifyInstance;
  /** Disables the response timeout. */
  readonly mayLast?: boolean;
  readonly wholeHead?: boolean;
}

/** Registers the routes of one group on a Fastify instance. */
export class OperationRouter implements Router {
  readonly #router: FastifyInstance;
  readonly #options: OperationRouterOptions;

  constructor(router: FastifyInstance, options: OperationRouterOptions) {
    this.#router = router;
    this.#options = options;
  }

  readonly withoutHarness: Router["withoutHarness"] = (operation, answer) => {
    this.#route(operation, async (request, reply) => {
      return send(operation, reply, await answer(operationCall(operation, request, reply)));
    });
  };

  readonly handle: Router["handle"] = (operation, answer) => {
    this.#route(operation, async (request, reply) => {
      const call = await this.#governedCall(operation, request, reply);
      return send(operation, reply, await mapErrors(() => answer(call)));
    });
  };

  readonly longPoll: Router["longPoll"] = (operation, answer) => {
    const { limits, bodies } = this.#options;
    this.#router.register(async (router) => {
      router.removeAllContentTypeParsers();
      router.addContentTypeParser(JSON_TYPES, (request: FastifyRequest) =>
        bodies.read(request, limits.maxMessageBytes),
      );
      const handler: RouteHandlerMethod = async (request, reply) => {
        const call = await this.#governedCall(operation, request, reply);
        let answered: RawResponse;
        try {
          answered = await answer(call);
        } catch (error) {
          throw toHttpProblem(error);
        }
        return sendRaw(reply, answered);
      };
      this.#route(operation, handler, { router, mayLast: true, wholeHead: true });
    });
  };

  readonly stream: Router["stream"] = (operation, tell, whole) => {
    const handler: RouteHandlerMethod = async (request, reply) => {
      const call = await this.#governedCall(operation, request, reply);
      if (whole && !accepts(request.raw, "text/event-stream")) {
        requireAccepted(request.raw, "application/json");
        return reply.code(operation.status).send(await mapErrors(() => whole(call)));
      }
      await this.#streaming(call, reply, async (open) => mapErrors(() => tell(call, open)));
      return reply;
    };
    this.#route(operation, handler, { mayLast: whole !== undefined });
  };

  readonly raw: Router["raw"] = ({ path }, handle) => {
    this.#untouched(path, undefined, async (request, reply) => {
      reply.hijack();
      await handle(request.raw, reply.raw, callerOf(request));
      return reply;
    });
  };

  readonly publicFile: Router["publicFile"] = ({ path }, handle) => {
    this.#options.allowed.add(path, ["GET", "HEAD"]);
    const handler: RouteHandlerMethod = async (request, reply) => {
      const written = handle(request.raw, reply.raw);
      try {
        await written;
      } catch (error) {
        if (!reply.raw.headersSent) throw error;
        this.#options.log.debug({ err: error, path }, "a response was cut off");
      }
      reply.hijack();
      return reply;
    };
    const config = { open: true };
    // No timeout: the listener cuts off those who do not read.
    this.#router.route({ method: ["GET", "HEAD"], url: path, exposeHeadRoute: false, config, handler });
  };

  readonly text: Router["text"] = (operation, write) => {
    const handler: RouteHandlerMethod = async (request, reply) => {
      const call = await this.#governedCall(operation, request, reply);
      const pieces = write(call)[Symbol.asyncIterator]();
      const first = await mapErrors(() => pieces.next());
      const rest = Readable.from(piecesFrom(first, pieces), { objectMode: false });
      return reply
        .code(operation.status)
        .type(operation.media ?? "text/plain; charset=utf-8")
        .send(rest);
    };
    this.#route(operation, handler, { mayLast: true });
  };

  readonly transfer: Router["transfer"] = (operation, answer) => {
    const { clock, limits } = this.#options;
    this.#router.register(async (router) => {
      router.removeAllContentTypeParsers();
      router.addContentTypeParser("*", (_request, _payload, done) => done(null));
      const handler: RouteHandlerMethod = async (request, reply) => {
        const call = await this.#governedCall(operation, request, reply);
        liftArrivalTimeout(request.raw);
        const bytes = arrivingBytes(request.raw, clock, limits.stallMs);
        const response = await this.#streaming(call, reply, async (open) =>
          callerProblems(() => answer({ ...call, bytes, open })),
        );
        if (!response) return reply;
        const { status, headers = {}, body } = response;
        return reply.code(status).headers(headers).send(body);
      };
      this.#route(operation, handler, { router, mayLast: true });
    });
  };

  readonly reject: Router["reject"] = (path, method, refusal) => {
    this.#untouched(path, method, async () => {
      throw refusal();
    });
  };

  readonly upgrade: Router["upgrade"] = (door, take, options) => {
    this.#options.upgrades.add(door, take, options);
  };

  #route(
    operation: Operation,
    handler: RouteHandlerMethod,
    { router = this.#router, mayLast = false, wholeHead = false }: RouteOptions = {},
  ): void {
    const { method, path, events } = operation;
    const url = path.replace(/\{(\w+)\}/g, ":$1");
    const exposeHeadRoute = method === "GET" && events === undefined;
    this.#options.allowed.add(url, exposeHeadRoute ? ["GET", "HEAD"] : [method]);
    this.#options.operations.push(operation);
    const timeout = mayLast ? {} : this.#timeout;
    router.route({ method, url, exposeHeadRoute, config: { operation, wholeHead }, handler, ...timeout });
  }

  /** A path whose requests keep their unread body. */
  #untouched(path: string, method: string | undefined, handler: RouteHandlerMethod): void {
    this.#router.register(async (router) => {
      router.removeAllContentTypeParsers();
      router.addContentTypeParser("*", (_request, _payload, done) => done(null));
      const methods = method ?? router.supportedMethods;
      router.route({ method: methods, url: path, exposeHeadRoute: false, handler, ...this.#timeout });
    });
  }

  get #timeout(): { readonly handlerTimeout: number } {
    return { handlerTimeout: this.#options.limits.answerTimeoutMs };
  }

  async #governedCall<Op extends Operation>(
    operation: Op,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<LongPollCall<Op>> {
    const caller = callerOf(request);
    const governed = await authorize(this.#options.harness, caller.id);
    requireAudience(operation.audience, governed.principal);
    return {
      ...operationCall(operation, request, reply),
      ...governed,
      caller,
      currentPrincipal: () => currentPrincipal(operation.audience, governed),
      onDisconnect: (run) => onceGone(reply, run),
    };
  }

  /** Runs a handler that may open a stream; an error after that ends it. */
  async #streaming<Result>(
    call: LongPollCall,
    reply: FastifyReply,
    run: (open: () => SseWriter) => Promise<Result>,
  ): Promise<Result | undefined> {
    let opened: SseWriter | undefined;
    const open = () => {
      opened = this.#openStream(call, reply);
      return opened;
    };
    try {
      return await run(open);
    } catch (error) {
      if (!opened) throw error;
      const { operation } = reply.request.routeOptions.config;
      this.#options.log.warn({ err: error, operation: operation?.id }, "a stream was cut off");
      return undefined;
    } finally {
      opened?.end();
    }
  }

  #openStream({ context, caller, principal }: LongPollCall, reply: FastifyReply): SseWriter {
    const { clock, limits, quotas } = this.#options;
    const { streams, streaming } = context;
    if (!streaming) throw new HttpProblem("not_acceptable", "streams are read over a connection");
    if (streams.size >= limits.maxStreams)
      throw new HttpProblem("unavailable", "too many streams are open", { headers: { "retry-after": "10" } });
    const release = quotas.hold("streams", principal);
    reply.hijack();
    const stream = new SseWriter(reply.raw, clock, limits, { "x-accel-buffering": "no" });
    if (stream.closed.aborted) {
      release();
      return stream;
    }
    streams.add(stream);
    const cancel = onceExpired(caller, clock, () => stream.end());
    const closed = () => {
      cancel();
      release();
      streams.delete(stream);
    };
    stream.closed.addEventListener("abort", closed, { once: true });
    return stream;
  }
}

function operationCall<Op extends Operation>(
  operation: Op,
  request: FastifyRequest,
  reply: FastifyReply,
): OperationCall<Op> {
  const { params, query, body } = readCall(operation, request);
  return {
    params,
    query,
    body,
    request: request.raw,
    context: listenerContextOf(request.raw),
    header: (name, value) => void reply.header(name, value),
    otherwise: () => void reply.code(operation.also?.status ?? operation.status),
  };
}

/** An iterator whose first result was already read. */
async function* piecesFrom(
  first: IteratorResult<string>,
  rest: AsyncIterator<string>,
): AsyncGenerator<string> {
  try {
    for (let next = first; !next.done; next = await rest.next()) yield next.value;
  } finally {
    await rest.return?.();
  }
}

/** Runs a callback when the client disconnects before the response; returns the function that removes it. */
function onceGone({ raw }: FastifyReply, run: () => void): () => void {
  const closed = () => {
    if (!raw.writableEnded) run();
  };
  if (isClosed(raw)) closed();
  else raw.on("close", closed);
  return () => void raw.off("close", closed);
}

function callerOf(request: FastifyRequest): Caller {
  if (request.caller) return request.caller;
  throw new HttpProblem("unauthenticated", "the request is not authenticated");
}

function send({ status, also, answer }: Operation, reply: FastifyReply, body: unknown): FastifyReply {
  return reply
    .code(reply.statusCode === also?.status ? also.status : status)
    .send(answer === Nothing ? undefined : body);
}

const JSON_TEXT = "application/json; charset=utf-8";

/**
 * Sends a response with its head in one write, which is faster than setting headers one by one. Headers that are set
 * override the security headers.
 */
function sendRaw(reply: FastifyReply, { status, text = "" }: RawResponse): FastifyReply {
  const head: Record<string, OutgoingHttpHeader | undefined> = { ...SECURITY_HEADERS, ...reply.getHeaders() };
  if (text !== "") head["content-type"] = JSON_TEXT;
  if (status !== 204) head["content-length"] = Buffer.byteLength(text);
  // Over HTTP/2 the framework handles back-pressure.
  if (reply.request.raw.httpVersionMajor > 1)
    return reply
      .code(status)
      .headers(head)
      .send(text || undefined);
  reply.hijack();
  reply.raw.writeHead(status, head);
  reply.raw.end(text);
  return reply;
}
