import { createHash } from "node:crypto";
import { membersOf } from "@reins/acp";
import { errorMessage, isRecord, readJson, readLimited } from "@reins/kit";
import { z } from "zod";
import {
  type ActionCall,
  mayRepeat,
  type PerformedAction,
  type PlannedAction,
  type RunExecutor,
  UNKNOWN_OUTCOME,
} from "./executor.ts";
import { performStep } from "./pipeline-executors.ts";

/** A service that the operator lets graphs call. */
export interface ServiceSettings {
  readonly description: string;
  readonly capabilities?: readonly string[] | undefined;
  /** The address below which everything may be called. */
  readonly url: string;
  /** The methods that may be used; `GET` alone by default. */
  readonly methods?: readonly string[] | undefined;
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Whether it makes one effect of requests with the same `Idempotency-Key`. */
  readonly idempotent?: boolean | undefined;
  readonly timeoutMs?: number | undefined;
  readonly maxBytes?: number | undefined;
}

const ServiceInput = z.strictObject({
  method: z.enum(["GET", "POST", "PUT", "PATCH", "DELETE"]).default("GET"),
  path: z.string().max(4_096).default(""),
  query: z.record(z.string(), z.string()).default({}),
  body: z.unknown().optional(),
});

const TIMEOUT_MS = 30_000;
const MAX_BYTES = 1 << 20;
const MOST_REDIRECTS = 5;
/** Answers of a gateway that does not know what the service did. */
const UNTOLD: ReadonlySet<number> = new Set([502, 504]);
/** Errors of a connection that was never made. */
const UNSENT: ReadonlySet<unknown> = new Set([
  "ECONNREFUSED",
  "ENOTFOUND",
  "EAI_AGAIN",
  "UND_ERR_CONNECT_TIMEOUT",
]);

/** The services of an operator: HTTP below an address, and nowhere else. */
export function serviceExecutors(
  services: Readonly<Record<string, ServiceSettings>>,
): readonly RunExecutor[] {
  return Object.entries(services).map(([name, service]) => {
    const executor: RunExecutor = {
      ...{ name, type: "service", description: service.description, ruleName: "graph/service" },
      // It writes elsewhere: nothing of the workspace.
      bindsWrites: true,
      capabilities: [name, "service", "http", ...(service.capabilities ?? [])],
      input: z.toJSONSchema(ServiceInput, { io: "input" }),
      isIdempotent: service.idempotent ?? methodsOf(service).every((method) => method === "GET"),
      hasParts: true,
      check: (input) => void requestOf(service, input),
      plan: async (call) => {
        const first = planRequest({ name, service, call }, requestOf(service, call.input ?? {}));
        const repeats = mayRepeat(executor, call.action);
        return {
          ...first,
          perform: (given, signal) =>
            followRedirects({ name, service, call }, repeats, signal, (begin) =>
              begin().then((isFirst) => (isFirst ? first.perform(given, signal) : NOT_AGAIN)),
            ),
        };
      },
    };
    return executor;
  });
}

const NOT_AGAIN: ServiceAnswer = { output: UNKNOWN_OUTCOME, isError: true, isUnknown: true };

interface ServiceCall {
  readonly name: string;
  readonly service: ServiceSettings;
  readonly call: ActionCall;
}

/** What a service answers: what came of it, or where it redirects to. */
interface ServiceAnswer extends PerformedAction {
  readonly next?: { readonly method: string; readonly url: string; readonly body?: string | undefined };
}

/** Makes a request. Where it redirects to, no verdict has said anything about: each of these is decided as the next one. */
async function followRedirects(
  at: ServiceCall,
  repeats: boolean,
  signal: AbortSignal,
  request: (begin: () => Promise<boolean>) => Promise<ServiceAnswer>,
): Promise<PerformedAction> {
  const { name, call, service } = at;
  let answer: ServiceAnswer = await call.part("0", (begin) => request(() => begin(repeats)));
  for (let redirects = 1; answer.next; redirects += 1) {
    if (redirects > MOST_REDIRECTS) throw new Error("the service redirects without end");
    const step = { name: `${redirects}`, executor: `service:${name}`, mayRepeat: repeats };
    const next = allowedRequest(service, answer.next);
    answer = await performStep(step, call, async () => planRequest(at, next), signal);
  }
  return answer;
}

/** One request to a service. */
function planRequest(at: ServiceCall, { method, url, body }: ServiceRequest): PlannedAction<ServiceAnswer> {
  const { name, service, call } = at;
  return {
    ...{ tool: "graph/service", tools: "acp", kind: "fetch" },
    arguments: { service: name, method, url: url.href, ...(body !== undefined && { body }) },
    async perform(given, signal) {
      const request = allowedRequest(service, given);
      const limit = AbortSignal.any([signal, AbortSignal.timeout(service.timeoutMs ?? TIMEOUT_MS)]);
      // One that may be sent again has the same key then, where the service goes by keys.
      const mayRepeat = request.method === "GET" || service.idempotent === true;
      try {
        const answer = await exchange(service, request, call.effectKey, limit);
        return mayRepeat || !answer.isUntold ? answer : { ...answer, isUnknown: true };
      } catch (error) {
        if (mayRepeat || signal.aborted || wasNotSent(error)) throw error;
        const output = `${errorMessage(error)}; it is not known whether the service did it`;
        return { output, isError: true, isUnknown: true };
      }
    },
  };
}

function wasNotSent(error: unknown): boolean {
  return error instanceof Error && UNSENT.has(membersOf(error.cause).code);
}

/** Sends a request and reads what comes back, as far as anything may see it. */
async function exchange(
  service: ServiceSettings,
  request: ServiceRequest,
  key: string,
  signal: AbortSignal,
): Promise<ServiceAnswer & { readonly isUntold: boolean }> {
  const secrets = new HeaderSecrets(service.headers ?? {});
  const response = await send(service, request, key, signal);
  const next = redirectOf(service, request, response, secrets);
  if (!next) return readResponse(response, service, secrets);
  await response.body?.cancel();
  const { href } = next.url;
  return { output: `It redirects to ${href}.`, next: { ...next, url: href }, isUntold: false };
}

interface ServiceRequest {
  readonly method: string;
  readonly url: URL;
  readonly body: string | undefined;
}

function requestOf(service: ServiceSettings, input: Readonly<Record<string, unknown>>): ServiceRequest {
  const { method, path, query, body } = ServiceInput.parse(input);
  if (method === "GET" && body !== undefined) throw new Error("a GET has no body");
  const base = service.url.endsWith("/") ? service.url : `${service.url}/`;
  const url = path === "" ? new URL(service.url) : new URL(path.replace(/^\/+/, ""), base);
  for (const [name, value] of Object.entries(query)) url.searchParams.set(name, value);
  return withinService(service, { method, url, body: body === undefined ? undefined : JSON.stringify(body) });
}

const AllowedRequest = z.looseObject({ method: z.string(), url: z.string(), body: z.string().optional() });

/** The request that a verdict allowed, which may be another than the one that was asked for. */
function allowedRequest(service: ServiceSettings, given: unknown): ServiceRequest {
  const { method, url, body } = AllowedRequest.parse(given);
  return withinService(service, { method, url: new URL(url), body });
}

/** A request, unless it is none that the service takes. */
function withinService(service: ServiceSettings, request: ServiceRequest): ServiceRequest {
  const { method, url } = request;
  const methods = methodsOf(service);
  if (!methods.includes(method))
    throw new Error(`the service takes ${methods.join(", ")}, and not ${method}`);
  if (!isBelow(service, url)) throw new Error(`${url.href} is outside of the service`);
  return request;
}

function methodsOf({ methods = ["GET"] }: ServiceSettings): readonly string[] {
  return methods;
}

function isBelow({ url }: ServiceSettings, asked: URL): boolean {
  const base = new URL(url);
  const folder = base.pathname.endsWith("/") ? base.pathname : `${base.pathname}/`;
  const isSame = asked.pathname === base.pathname || asked.pathname.startsWith(folder);
  const isPlain = asked.username === "" && asked.password === "" && !climbs(asked.pathname);
  return asked.origin === base.origin && isSame && isPlain;
}

/**
 * Whether a server that decodes a path, as often as it likes, might take it for one that leads upwards. Some take
 * parameters, spaces or zero bytes off a segment before they look, so none may begin that way.
 */
function climbs(path: string): boolean {
  const decoded = path
    .replace(/%(?:25)*(?:2e|c0%(?:25)*ae)/gi, ".")
    .replace(/%(?:25)*(?:2f|5c|c0%(?:25)*af)/gi, "/")
    .replace(/%(?:25)*(?:0\d|20)/gi, " ");
  return decoded.split(/[/\\]/).some((segment) => segment.trimStart().startsWith(".."));
}

function send(
  { headers }: ServiceSettings,
  { method, url, body }: ServiceRequest,
  key: string,
  signal: AbortSignal,
): Promise<Response> {
  const digest = createHash("sha256").update(JSON.stringify([method, url.href, body ?? null]));
  return fetch(url, {
    ...{ method, redirect: "manual", signal },
    headers: {
      ...headers,
      ...(body !== undefined && { "content-type": "application/json" }),
      "idempotency-key": `${key}/${digest.digest("base64url").slice(0, 22)}`,
    },
    ...(body !== undefined && { body }),
  });
}

/** The request that a response redirects to; throws for one outside of the service. */
function redirectOf(
  service: ServiceSettings,
  { url, method, body }: ServiceRequest,
  { status, headers }: Response,
  secrets: HeaderSecrets,
): ServiceRequest | undefined {
  const location = headers.get("location");
  if (status < 300 || status >= 400 || location === null) return undefined;
  const next = URL.parse(location, url.href);
  // An address is shown, recorded and asked about.
  if (!next || secrets.areIn(next))
    throw new Error("the service redirects to an address that is none, or that has a secret in it");
  if (!isBelow(service, next))
    throw new Error(`the service redirects to ${next.href}, which is outside of it`);
  if (status !== 303) return { url: next, method, body };
  // One that may not be read is not followed.
  return methodsOf(service).includes("GET") ? { url: next, method: "GET", body: undefined } : undefined;
}

async function readResponse(
  response: Response,
  service: ServiceSettings,
  secrets: HeaderSecrets,
): Promise<PerformedAction & { readonly isUntold: boolean }> {
  const { status } = response;
  const text = await limitedText(response, service.maxBytes ?? MAX_BYTES);
  const isJson = (response.headers.get("content-type") ?? "").includes("json");
  const output = secrets.takenOut({ status, body: isJson ? parsed(text) : text });
  return { output, isError: status >= 400, isUntold: UNTOLD.has(status) };
}

async function limitedText({ body }: Response, most: number): Promise<string> {
  const read = body ? await readLimited(body, most) : Buffer.alloc(0);
  if (read) return read.toString("utf8");
  throw new Error(`the response is longer than ${most} bytes`);
}

/** JSON as a value, and as a text where it is none or is nested too deep for what walks through it. */
function parsed(text: string): unknown {
  try {
    readJson(text);
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const SECRET_HEADER = /auth|cookie|key|token|secret|password|credential/i;
/** Shorter words of a header are no secrets. */
const SHORTEST = 8;
const REDACTED = "[redacted]";

/** The secrets that a service is called with. One that repeats what it was sent shows them to no model and no person. */
export class HeaderSecrets {
  /** Each as it is, and as it is written in addresses and in JSON; the longest first. */
  readonly #forms: readonly string[];

  constructor(headers: Readonly<Record<string, string>>) {
    const secrets = Object.entries(headers)
      .filter(([name]) => SECRET_HEADER.test(name))
      .flatMap(([, value]) => secretsIn(value))
      .filter((secret) => secret.length >= SHORTEST);
    const forms = secrets.flatMap((secret) => [
      secret,
      encodeURIComponent(secret),
      JSON.stringify(secret).slice(1, -1),
      JSON.stringify(secret).slice(1, -1).replaceAll("/", "\\/"),
    ]);
    this.#forms = [...new Set(forms)].sort((one, two) => two.length - one.length);
  }

  /** Whether an address has one in it, in any spelling that an address has for it. */
  areIn({ href }: URL): boolean {
    const spellings = [href, decoded(href)].map((text) => text.toLowerCase());
    return this.#forms.some((form) => spellings.some((text) => text.includes(form.toLowerCase())));
  }

  /** A value without them, also in the names of its members. */
  takenOut(value: unknown): unknown {
    if (typeof value === "string")
      return this.#forms.reduce((text, form) => text.replaceAll(form, REDACTED), value);
    if (Array.isArray(value)) return value.map((one) => this.takenOut(one));
    if (!isRecord(value)) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, one]) => [this.takenOut(name), this.takenOut(one)]),
    );
  }
}

/** The words of a header's value, the values of its cookies and parameters, and the password of basic authentication. */
function secretsIn(value: string): string[] {
  const words = value.split(/[\s;,]+/);
  const values = words.map((word) => word.slice(word.indexOf("=") + 1).replace(/^"|"$/g, ""));
  const basic = /^basic\s+(\S+)$/i.exec(value)?.[1];
  const login = basic === undefined ? "" : Buffer.from(basic, "base64").toString("utf8");
  return [value, ...words, ...values, login, login.slice(login.indexOf(":") + 1)];
}

function decoded(address: string): string {
  return address.replace(/(?:%[0-9a-f]{2})+/gi, (bytes) =>
    Buffer.from(bytes.replaceAll("%", ""), "hex").toString("utf8"),
  );
}
