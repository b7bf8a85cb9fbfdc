import { createHash, randomBytes } from "node:crypto";
import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { unescape as unescaped } from "node:querystring";
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, zstdDecompress } from "node:zlib";
import { errorMessage, isRecord, LoopbackServer, parseExact, readRequestBody, systemClock } from "@reins/kit";
import {
  type CallFacts,
  GATEWAY_METHODS,
  type GatewayMethod,
  PROVIDERS,
  type Provider,
  type TokenCounts,
} from "./dialects.ts";
import { forward, sentHeaders } from "./forward.ts";
import type { PriceList } from "./prices.ts";
import type { ProviderKeys } from "./provider-keys.ts";
import { type CountedUsage, estimatedInput } from "./usage.ts";

/** A call to a model, before anything of it leaves. */
export interface ModelCall extends CallFacts {
  readonly method: string;
  readonly provider: Provider;
  /** Where it goes, without a query. */
  readonly url: string;
  readonly maxOutput: number;
  readonly estimatedInput: number;
  /** The most that it is expected to use: its input, and the longest response that it asks for. */
  readonly reserves: Spending & {
    /** Why its cost is not known, and what to do; the cost is 0 then. */
    readonly unpriced?: string;
  };
  /** Whether the prices of its models are known. */
  readonly isPriced: boolean;
  /** What so many tokens of it are counted as in dollars; `undefined` where nothing says what they cost. */
  costOf(counts: TokenCounts): number | undefined;
  /** What is sent. */
  readonly body: Readonly<Record<string, unknown>>;
  /** What is sent beside it: the headers, the query, and the names in the path. */
  readonly beside: Readonly<Record<string, unknown>>;
}

/** Tokens, and dollars. */
export interface Spending {
  readonly tokens: number;
  readonly cost: number;
}

/** How a call ended: by itself, with an error of the provider, by either end hanging up, or because its budget was used up. */
export type CallOutcome = "completed" | "failed" | "cancelled" | "broken" | "cut";

/** What becomes of a call. */
export type Admission =
  | { readonly refused: string }
  | {
      /** How much of its budgets is left for it now. */
      room(): Spending;
      /** Called once, with what it used. */
      settle(outcome: CallOutcome, usage: CountedUsage, spent: Spending): Promise<void>;
    };

/** Decides the calls of one lease before they are made. Rejects where it cannot: the call is not made then. */
export interface CallGovernor {
  admit(call: ModelCall, signal: AbortSignal): Promise<Admission>;
}

/** What an agent gets in place of a provider's address and key. */
export interface GatewayLease {
  /** The address of a provider below this one is its name. */
  readonly url: string;
  readonly token: string;
  revoke(): void;
}

export interface ModelGatewayOptions {
  readonly keys: Pick<ProviderKeys, "get">;
  readonly prices: PriceList;
  /** The addresses of providers, where they are not the usual ones. */
  readonly addresses?: Readonly<Partial<Record<Provider, string>>> | undefined;
  readonly onError: (error: unknown) => void;
}

const ADDRESSES: Readonly<Record<Provider, string>> = {
  anthropic: "https://api.anthropic.com",
  openai: "https://api.openai.com",
  gemini: "https://generativelanguage.googleapis.com",
};

/** Matches the redaction of Reins's own tokens. */
const TOKEN_MARK = "reins_gw_";
const MAX_BODY = 64 * 1024 * 1024;
/** The bodies of all calls that are being decided or sent, and those of one lease, which leaves room for others. */
const MAX_HELD = 512 * 1024 * 1024;
const MAX_HELD_PER_LEASE = MAX_HELD / 4;
/** The most values of a body, by the brackets and commas in it: each takes far more memory than it has characters. */
const MAX_VALUES = 2_000_000;
const BYTES_PER_VALUE = 32;
/** The most models that may answer a call, besides the one that is named. */
const MOST_MODELS = 20;
const MAX_CALLS_PER_LEASE = 500;
/** Schemas of tools nest deeply. */
const DEEPEST = 512;
/** The longest response of a request that sets no limit. */
const USUAL_OUTPUT = 32_768;
const MOST_OUTPUT = 1_000_000;

interface Held {
  readonly governor: CallGovernor;
  readonly providers: readonly string[];
  /** The responses that it waits for. */
  readonly calls: Set<ServerResponse>;
  /** The bytes of its calls. */
  bytes: number;
  /** The most tokens that one of its calls has used: what a provider keeps of a conversation is not longer, about. */
  longest: number;
}

/** Takes room for so many bytes more, if there is some. */
type TakeRoom = (bytes: number) => boolean;

/**
 * Stands between agents and the providers of models, on loopback: takes a token in place of the key, has each call decided,
 * passes request and response on byte by byte, and counts what was used.
 */
export class ModelGateway {
  readonly #options: ModelGatewayOptions;
  readonly #leases = new Map<string, Held>();
  #server: Promise<LoopbackServer> | undefined;
  #heldBytes = 0;

  constructor(options: ModelGatewayOptions) {
    this.#options = options;
  }

  /** The providers that there is a key for. */
  async available(): Promise<readonly Provider[]> {
    const keys = await Promise.all(PROVIDERS.map((provider) => this.#options.keys.get(provider)));
    return PROVIDERS.filter((_, index) => keys[index] !== undefined);
  }

  /** Gives access to providers until it is revoked. Listens from the first lease on. */
  async lease(providers: readonly Provider[], governor: CallGovernor): Promise<GatewayLease> {
    this.#server ??= this.#listen();
    const { url } = await this.#server;
    const token = `${TOKEN_MARK}${randomBytes(32).toString("base64url")}`;
    const name = digest(token);
    const held: Held = { governor, providers, calls: new Set(), bytes: 0, longest: 0 };
    this.#leases.set(name, held);
    const revoke = () => {
      this.#leases.delete(name);
      // Another process may have the token and wait for a response.
      for (const response of held.calls) response.destroy();
    };
    return { url, token, revoke };
  }

  async close(): Promise<void> {
    this.#leases.clear();
    await (await this.#server)?.close();
  }

  async #listen(): Promise<LoopbackServer> {
    const server = await LoopbackServer.listen();
    server.serve((request, response) => {
      this.#serve(request, response).catch((error: unknown) => {
        this.#options.onError(error);
        response.destroy();
      });
    });
    return server;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const [path = "", query] = (request.url ?? "/").split(/\?(.*)/s);
    const [, provider = "", below = ""] = /^\/([a-z]+)(\/.*)$/.exec(path) ?? [];
    const method = GATEWAY_METHODS.find((one) => one.provider === provider && one.path.test(below));
    const refuse = (status: number, message: string) =>
      refuseWith(request, response, status, message, method);
    const lease = this.#leases.get(digest(tokenIn(request.headers, query)));
    if (!lease?.providers.includes(provider))
      return refuse(401, "the token is not one of a session that runs");
    if (!method || request.method !== "POST") return refuse(404, "the gateway of Reins does not serve this");
    if (lease.calls.size >= MAX_CALLS_PER_LEASE)
      return refuse(429, `more than ${MAX_CALLS_PER_LEASE} calls at once`);
    lease.calls.add(response);
    // While the body arrives.
    const key = this.#keyOf(method.provider);
    let held = 0;
    const take = (bytes: number) => {
      if (this.#heldBytes + bytes > MAX_HELD || lease.bytes + bytes > MAX_HELD_PER_LEASE) return false;
      held += bytes;
      lease.bytes += bytes;
      this.#heldBytes += bytes;
      return true;
    };
    try {
      const read = await readRequestBody(request, MAX_BODY, systemClock, take);
      if ("fault" in read)
        return read.fault === "busy"
          ? refuse(503, BUSY)
          : refuse(413, `the request is larger than ${MAX_BODY} bytes`);
      const { bytes } = read;
      const arrived = { method, below, query, lease, request, response, bytes, take, refuse };
      await this.#call({ ...arrived, key: await key });
    } finally {
      lease.calls.delete(response);
      lease.bytes -= held;
      this.#heldBytes -= held;
    }
  }

  async #keyOf(provider: Provider): Promise<string | undefined> {
    try {
      return await this.#options.keys.get(provider);
    } catch (error) {
      this.#options.onError(error);
      return undefined;
    }
  }

  async #call(arrived: Arrived): Promise<void> {
    const { method, below, query, lease, request, response, bytes, take, key, refuse } = arrived;
    const { provider } = method;
    const read = await readCall(arrived).catch((error: unknown) => ({ fault: errorMessage(error) }));
    if ("fault" in read) return refuse(400, read.fault);
    const { body, facts } = read;
    if (!take(read.bytes)) return refuse(503, BUSY);
    if (key === undefined)
      return refuse(401, `Reins has no key for ${provider}; set one with: reins keys set ${provider}`);
    const { addresses = {}, prices, onError } = this.#options;
    const url = `${(addresses[provider] ?? ADDRESSES[provider]).replace(/\/+$/, "")}${below}`;
    const kept = facts.stored.length > 0 ? lease.longest : 0;
    const input = method.generates ? estimatedInput(body) + kept : 0;
    const most = Math.min(facts.maxOutput ?? USUAL_OUTPUT, MOST_OUTPUT);
    const maxOutput = method.generates ? most : 0;
    const models = [facts.model, ...facts.otherModels.filter((name) => name !== "default")];
    const costOf = (counts: TokenCounts) => prices.dearest(models, counts);
    const cost = costOf({ input, output: maxOutput, cache_read: 0, cache_write: 0 });
    const unpriced = models.find((model) => prices.cost(model, NO_TOKENS) === undefined);
    const call: ModelCall = {
      ...{ ...facts, method: method.name, provider, url, maxOutput, estimatedInput: input, body, costOf },
      beside: { headers: sentHeaders(request.headers), ...besideIn(below, withoutKeys(query)) },
      isPriced: models.every((model) => prices.priceOf(model) !== undefined),
      reserves: {
        ...{ tokens: input + maxOutput, cost: cost ?? 0 },
        ...(unpriced !== undefined && method.generates && { unpriced: whyUnpriced(unpriced) }),
      },
    };
    const gone = new AbortController();
    response.once("close", () => gone.abort(new Error("the agent hung up")));
    if (response.destroyed) return;
    const admission = await lease.governor.admit(call, gone.signal).catch((error: unknown) => {
      if (!gone.signal.aborted) onError(error);
      return { refused: `it could not be decided: ${errorMessage(error)}` };
    });
    if ("refused" in admission) return refuse(403, `Reins did not allow the call: ${admission.refused}`);
    await forward({
      ...{ call, method, key, bytes, onError },
      admission: {
        room: () => admission.room(),
        settle: (outcome, usage, spent) => {
          lease.longest = Math.max(lease.longest, spent.tokens);
          return admission.settle(outcome, usage, spent);
        },
      },
      url: new URL(`${url}${withoutKeys(query)}`),
      agent: { request, response, gone: gone.signal },
    });
  }
}

/** What ends the path of a response that is streamed, where the body does not say so. */
const STREAM = ":streamGenerateContent";
const BUSY = "too many large calls are under way";
const NO_TOKENS: TokenCounts = { input: 0, output: 0, cache_read: 0, cache_write: 0 };

/** Says that the price of a model is not known, and what an operator can do about it. */
export function whyUnpriced(model: string): string {
  const name = JSON.stringify(model.slice(0, 128).toWellFormed());
  return `the price of the model ${name} is not known; set it under gateway.prices in reins.yaml, or a price for all such models as gateway.unknown_price`;
}

/** A request of an agent that was read. */
interface Arrived {
  readonly method: GatewayMethod;
  readonly below: string;
  readonly query: string | undefined;
  readonly lease: Held;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly bytes: Buffer;
  readonly take: TakeRoom;
  /** The provider's key, where there is one. */
  readonly key: string | undefined;
  readonly refuse: (status: number, message: string) => void;
}

/** A request, with how much more memory it takes than it came in. */
interface ReadCall {
  readonly body: Readonly<Record<string, unknown>>;
  readonly facts: CallFacts;
  readonly bytes: number;
}

/** Reads a request. Rejects where that is not clear. */
async function readCall({ method, below, request, bytes }: Arrived): Promise<ReadCall> {
  const text = await decoded(bytes, request.headers["content-encoding"]);
  const values = valuesIn(text);
  if (values > MAX_VALUES) throw new Error(`the request has more than ${MAX_VALUES} values`);
  const body = objectIn(text);
  const named = method.dialect.read(body, method.path.exec(below)?.[1] ?? "");
  if (named.otherModels.length > MOST_MODELS)
    throw new Error(`the request names more than ${MOST_MODELS} models`);
  const facts = { ...named, isStreamed: named.isStreamed || below.endsWith(STREAM) };
  return { body, facts, bytes: text.length + values * BYTES_PER_VALUE };
}

/** How many values a JSON text has at most; counted as far as that matters. */
function valuesIn(text: string): number {
  let count = 1;
  for (const mark of [",", "[", "{"])
    for (let at = text.indexOf(mark); at >= 0 && count <= MAX_VALUES; at = text.indexOf(mark, at + 1))
      count += 1;
  return count;
}

/** Answers for the provider, in its dialect. */
function refuseWith(
  request: IncomingMessage,
  response: ServerResponse,
  status: number,
  message: string,
  method: GatewayMethod | undefined,
): void {
  if (response.destroyed) return;
  const text = JSON.stringify(method?.dialect.error(status, message) ?? { error: { message } });
  // The rest of a body that is not read would be taken for the next request.
  const close = request.complete ? {} : { connection: "close" };
  response.writeHead(status, { "content-type": "application/json", ...close });
  response.end(text);
  request.resume();
}

/** The token that an agent shows, wherever its dialect puts keys; empty where there is none. */
function tokenIn(headers: IncomingHttpHeaders, query: string | undefined): string {
  const { authorization = "", "x-api-key": anthropic, "x-goog-api-key": google } = headers;
  const [, bearer] = /^bearer +(\S+)$/i.exec(authorization) ?? [];
  const shown = [anthropic, google, bearer, new URLSearchParams(query).get("key")];
  return String(shown.find((one) => typeof one === "string" && one.startsWith(TOKEN_MARK)) ?? "");
}

/** The parameters by which providers take keys. */
const KEY_PARAMETERS: ReadonlySet<string> = new Set(["key", "access_token", "oauth_token"]);

/** A query for the provider: without keys, and otherwise as it came. */
function withoutKeys(query: string | undefined): string {
  const kept = (query ?? "").split("&").filter((part) => {
    const [name = ""] = new URLSearchParams(part).keys();
    return name !== "" && !KEY_PARAMETERS.has(name.toLowerCase());
  });
  return kept.length === 0 ? "" : `?${kept.join("&")}`;
}

/** What the path and the query of a request say, as the provider reads it. */
function besideIn(path: string, query: string): { readonly path: readonly string[]; readonly query: object } {
  const parameters = new URLSearchParams(query);
  const values = [...new Set(parameters.keys())].map((name) => [name, parameters.getAll(name)]);
  return { path: unescaped(path).split("/"), query: Object.fromEntries(values) };
}

function digest(token: string): string {
  return createHash("sha256").update(token).digest("base64");
}

const DECODERS: Readonly<
  Record<string, (packed: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>>
> = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress),
};

async function decoded(bytes: Buffer, encoding = "identity"): Promise<string> {
  if (encoding === "identity") return bytes.toString("utf8");
  const decode = Object.hasOwn(DECODERS, encoding) ? DECODERS[encoding] : undefined;
  if (!decode) throw new Error("the content encoding of the request is not known");
  return (await decode(bytes, { maxOutputLength: MAX_BODY })).toString("utf8");
}

/** The object that a body is. One with a member twice is refused: a provider may read the other of the two. */
function objectIn(text: string): Readonly<Record<string, unknown>> {
  const body = parseExact(text, DEEPEST);
  if (!isRecord(body)) throw new Error("the request is no JSON object");
  return body;
}
