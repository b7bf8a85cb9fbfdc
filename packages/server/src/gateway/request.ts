import { isUtf8 } from "node:buffer";
import type { IncomingMessage } from "node:http";
import { type JsonObject, metaOf } from "@reins/acp";
import { NoMembers, Nothing, type Operation, RpcMessage } from "@reins/api";
import { type Clock, JsonError, memberFaults, parseJson, readJson, readRequestBody } from "@reins/kit";
import type { z } from "zod";
import type { Caller } from "../access/authenticator.ts";
import type { GatewayLimits } from "../limits.ts";
import { HttpProblem, httpProblem } from "../problems.ts";

/** The path of a request without its query, which may contain secrets. */
export function pathOf({ url = "/" }: Pick<IncomingMessage, "url">): string {
  const end = url.indexOf("?");
  return end < 0 ? url : url.slice(0, end);
}

type Headed = Pick<IncomingMessage, "headers">;

/** The value of a header; undefined if absent or repeated. */
export function headerOf({ headers }: Headed, name: string): string | undefined {
  const value = headers[name.toLowerCase()];
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** The value of a required header. */
export function requireHeader(request: Headed, name: string): string {
  const value = headerOf(request, name);
  if (value !== undefined) return value;
  throw new HttpProblem("invalid", `the header ${name} is needed`);
}

/** A W3C `traceparent`. */
const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The parameters of a prompt with the trace that its HTTP request names, unless its `_meta` names one. */
export function withTrace(request: Headed, method: string, params: JsonObject): JsonObject {
  if (method !== "session/prompt" || request.headers.traceparent === undefined) return params;
  const traceparent = headerOf(request, "traceparent") ?? "";
  const meta = metaOf(params);
  if (!TRACEPARENT.test(traceparent) || meta.traceparent !== undefined) return params;
  const tracestate = headerOf(request, "tracestate");
  return { ...params, _meta: { ...meta, traceparent, ...(tracestate !== undefined && { tracestate }) } };
}

/** Whether the client prefers the response on its stream (`Prefer: respond-async`). */
export function prefersAsync(request: Headed): boolean {
  const preferences = headerOf(request, "prefer")?.toLowerCase().split(",") ?? [];
  return preferences.some((preference) => preference.split(";")[0]?.trim() === "respond-async");
}

/** Whether a client accepts a media type; without a header it accepts any. */
export function accepts({ headers }: Pick<IncomingMessage, "headers">, type: string): boolean {
  const { accept } = headers;
  if (accept === undefined || accept.trim() === "") return true;
  const [family = ""] = type.split("/");
  const fitting = [type, `${family}/*`, "*/*"];
  return accept.split(",").some((range) => {
    const [name = "", ...parameters] = range.split(";").map((part) => part.trim().toLowerCase());
    return fitting.includes(name) && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
  });
}

/** Rejects a client that does not accept a media type. */
export function requireAccepted(request: Pick<IncomingMessage, "headers">, type: string): void {
  if (!accepts(request, type)) throw new HttpProblem("not_acceptable", `answers come as ${type}`);
}

/** Parses `Last-Event-ID`. */
export function lastEventId({ headers }: Pick<IncomingMessage, "headers">): number | undefined {
  const given = headers["last-event-id"];
  if (given === undefined || given === "") return undefined;
  if (typeof given === "string" && /^\d{1,15}$/.test(given)) return Number(given);
  throw new HttpProblem("invalid", "Last-Event-ID is the number of an event that was seen");
}

export interface BodyRequest {
  readonly raw: IncomingMessage;
  /** The sender; null on public routes. */
  readonly caller: Caller | null;
}

type BodyLimits = Pick<
  GatewayLimits,
  | "anonymousBodyBytes"
  | "anonymousBodies"
  | "anonymousBodiesPerAddress"
  | "anonymousBodyMs"
  | "arrivingBytesPerPrincipal"
>;

const BUSY = { headers: { "retry-after": "1" } };

/** Amounts in use, by key and in total. */
export class Usage {
  readonly #used = new Map<string, number>();
  #total = 0;

  get total(): number {
    return this.#total;
  }

  of(key: string): number {
    return this.#used.get(key) ?? 0;
  }

  /** Adds an amount; a negative one releases it. */
  add(key: string, amount = 1): void {
    const used = this.of(key) + amount;
    this.#total += amount;
    if (used > 0) this.#used.set(key, used);
    else this.#used.delete(key);
  }
}

/** Limits bodies in flight: of unauthenticated callers size, number and time; of each principal the total bytes. */
export class IncomingBodies {
  readonly #limits: BodyLimits;
  readonly #clock: Clock;
  /** Bodies in flight of unauthenticated callers, by address. */
  readonly #anonymous = new Usage();
  /** Bytes in flight, by principal. */
  readonly #bytes = new Usage();

  constructor(limits: BodyLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Reads a JSON body. */
  read({ raw, caller }: BodyRequest, maxBytes: number): Promise<unknown> {
    return caller ? this.#readOf(caller.id, raw, maxBytes) : this.#readAnonymous(raw, maxBytes);
  }

  async #readOf(principal: string, raw: IncomingMessage, maxBytes: number): Promise<unknown> {
    const length = Number(raw.headers["content-length"] ?? maxBytes);
    const bytes = Math.min(Number.isFinite(length) ? length : maxBytes, maxBytes);
    const before = this.#bytes.of(principal);
    if (before > 0 && before + bytes > this.#limits.arrivingBytesPerPrincipal)
      throw new HttpProblem(
        "unavailable",
        "too many of your request bodies are in flight; wait for responses",
        BUSY,
      );
    this.#bytes.add(principal, bytes);
    try {
      return await readJsonBody(raw, maxBytes, this.#clock);
    } finally {
      this.#bytes.add(principal, -bytes);
    }
  }

  async #readAnonymous(raw: IncomingMessage, maxBytes: number): Promise<unknown> {
    const { anonymousBodies, anonymousBodiesPerAddress, anonymousBodyBytes, anonymousBodyMs } = this.#limits;
    const address = raw.socket.remoteAddress ?? "unknown";
    if (this.#anonymous.of(address) >= anonymousBodiesPerAddress || this.#anonymous.total >= anonymousBodies)
      throw new HttpProblem("too_many_requests", "too many unauthenticated requests are in flight", BUSY);
    this.#anonymous.add(address);
    const { promise: late, reject } = Promise.withResolvers<never>();
    const cancel = this.#clock.after(anonymousBodyMs, () => reject(httpProblem("timeout")));
    try {
      return await Promise.race([
        readJsonBody(raw, Math.min(maxBytes, anonymousBodyBytes), this.#clock),
        late,
      ]);
    } finally {
      cancel();
      this.#anonymous.add(address, -1);
    }
  }
}

/** Media types of JSON bodies. */
export const JSON_TYPES = /^application\/([\w.-]+\+)?json(;|$)/i;

/** Reads a JSON body; undefined when it is empty. */
async function readJsonBody(request: IncomingMessage, maxBytes: number, clock: Clock): Promise<unknown> {
  const body = await readRequestBody(request, maxBytes, clock);
  if ("fault" in body) throw new HttpProblem("too_large", `a body has at most ${maxBytes} bytes`);
  if (body.bytes.length === 0) return undefined;
  if (!isUtf8(body.bytes)) throw new HttpProblem("invalid", "the body is not UTF-8");
  return parseBody(body.bytes.toString());
}

/** Parses the text of a body as strictly as AHP does. */
export function parseBody(text: string): unknown {
  try {
    const { value, duplicateKeys } = parseJson(text);
    if (!duplicateKeys) return value;
  } catch (error) {
    if (!(error instanceof JsonError)) throw error;
    const why = error.fault === "syntax" ? "" : `: ${error.message}`;
    throw new HttpProblem("invalid", `the body is not JSON that is accepted here${why}`, { cause: error });
  }
  throw new HttpProblem("invalid", `the body names a member twice: ${readJson(text).duplicate}`);
}

/** The body of a request as it arrives. Throws when no more of it comes for a while. */
export async function* arrivingBytes(
  request: IncomingMessage,
  clock: Clock,
  stallMs: number,
): AsyncGenerator<Uint8Array> {
  // A reader that stops early has a response to send on the same connection.
  const pieces = request.iterator({ destroyOnReturn: false });
  for (;;) {
    const { promise: late, reject } = Promise.withResolvers<never>();
    const cancel = clock.after(stallMs, () => reject(httpProblem("timeout")));
    const next = pieces.next();
    next.catch(() => undefined);
    try {
      const { done, value } = await Promise.race([next, late]);
      if (done) return;
      yield value;
    } finally {
      cancel();
    }
  }
}

/** The unparsed parts of a request. */
export interface Given {
  readonly params: unknown;
  readonly query: unknown;
  readonly body: unknown;
}

/** Validates a request by the schemas of its operation. Rejects it with one error per member. */
export function readCall<Op extends Operation>(
  operation: Op,
  { params, query, body }: Given,
): {
  readonly params: z.output<Op["params"]>;
  readonly query: z.output<Op["query"]>;
  readonly body: z.output<Op["body"]>;
};
export function readCall(operation: Operation, given: Given) {
  return {
    params: read("path", operation.params, given.params),
    query: read("query", operation.query, given.query),
    body: operation.body === Nothing ? undefined : read("body", operation.body, given.body),
  };
}

function read(part: string, schema: z.ZodType, given: unknown): unknown {
  if (fitsQuickly(schema, given)) return given;
  const checked = schema.safeParse(given);
  if (checked.success) return checked.data;
  const errors = memberFaults(checked.error).map(({ path, message }) => ({
    path: path === "" ? part : `${part}.${path}`,
    message,
  }));
  const detail = errors.map(({ path, message }) => `${path} ${message}`).join("; ");
  throw new HttpProblem("invalid", detail, { errors });
}

/** Limits of the fast check; the schema decides about longer values. */
const MOST_ID = 1_024;
const MOST_METHOD = 256;

const CHECKS: ReadonlyMap<z.ZodType, (value: object) => boolean> = new Map([
  [NoMembers, isEmpty],
  [RpcMessage, isMessage],
]);

/** A fast check for frequent schemas: true only if the schema would accept the value unchanged. */
export function fitsQuickly(schema: z.ZodType, value: unknown): boolean {
  const check = CHECKS.get(schema);
  return check !== undefined && typeof value === "object" && value !== null && check(value);
}

function isEmpty(value: object): boolean {
  for (const _ in value) return false;
  return !Array.isArray(value);
}

function isMessage(value: object): boolean {
  if (!("jsonrpc" in value) || value.jsonrpc !== "2.0" || Array.isArray(value)) return false;
  return (!("id" in value) || isId(value.id)) && (!("method" in value) || isMethod(value.method));
}

function isId(id: unknown): boolean {
  if (typeof id === "string") return id.length <= MOST_ID;
  return id === null || Number.isSafeInteger(id);
}

function isMethod(method: unknown): boolean {
  return typeof method === "string" && method !== "" && method.length <= MOST_METHOD;
}
