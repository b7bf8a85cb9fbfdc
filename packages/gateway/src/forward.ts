import { once } from "node:events";
import type { ServerResponse } from "node:http";
import http, { type IncomingHttpHeaders, type IncomingMessage, type OutgoingHttpHeaders } from "node:http";
import https from "node:https";
import { errorMessage, sseText, systemClock } from "@reins/kit";
import type { GatewayMethod, Provider } from "./dialects.ts";
import type { Admission, CallOutcome, ModelCall, Spending } from "./model-gateway.ts";
import { type CountedUsage, totalTokens, UsageCounter } from "./usage.ts";

/** A call that was allowed. */
export interface AllowedCall {
  readonly call: ModelCall;
  readonly method: GatewayMethod;
  readonly admission: Exclude<Admission, { readonly refused: string }>;
  readonly url: URL;
  readonly key: string;
  /** The body as it came. */
  readonly bytes: Buffer;
  readonly agent: {
    readonly request: IncomingMessage;
    readonly response: ServerResponse;
    readonly gone: AbortSignal;
  };
  readonly onError: (error: unknown) => void;
}

/** How long a provider may send nothing. */
const IDLE_MS = 600_000;
const MAX_HEADERS = 64 * 1024;
const AGENTS = {
  "http:": new http.Agent({ keepAlive: true }),
  "https:": new https.Agent({ keepAlive: true }),
};

const NOTHING: CountedUsage = { input: 0, output: 0, cache_read: 0, cache_write: 0, estimated: false };

/** Makes a call with the provider's key, and passes its response on as it comes. Settles it once, whatever happens. */
export async function forward(allowed: AllowedCall): Promise<void> {
  const { call, admission, agent, onError } = allowed;
  const { outcome, usage, finish } = await exchange(allowed).catch((error: unknown) => {
    onError(error);
    return { outcome: "broken" as const, usage: sentAlone(call, 0), finish: () => agent.response.destroy() };
  });
  const spent = { tokens: totalTokens(usage), cost: call.costOf(usage) ?? 0 };
  try {
    // Before the agent sees the end, so that its next call finds the budget as it is.
    await admission.settle(outcome, usage, spent);
  } catch (error) {
    onError(error);
  }
  finish();
}

interface Exchanged {
  readonly outcome: CallOutcome;
  readonly usage: CountedUsage;
  /** Ends the response to the agent. */
  readonly finish: () => void;
}

async function exchange(allowed: AllowedCall): Promise<Exchanged> {
  const { call, method, url, key, bytes, agent } = allowed;
  const { response, gone } = agent;
  const respond = (status: number, message: string) => () => {
    if (response.headersSent || response.destroyed) return void response.destroy();
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify(method.dialect.error(status, message)));
  };
  if (gone.aborted) return { outcome: "cancelled", usage: NOTHING, finish: () => undefined };
  const { request } = url.protocol === "http:" ? http : https;
  const outgoing = request(url, {
    method: "POST",
    headers: headersFor(call.provider, key, agent.request.headers, bytes.length),
    agent: AGENTS[url.protocol === "http:" ? "http:" : "https:"],
    maxHeaderSize: MAX_HEADERS,
    timeout: IDLE_MS,
  });
  // The reason is in the error that the response, or the wait for it, ends with.
  outgoing.on("error", () => undefined);
  outgoing.once("timeout", () => outgoing.destroy(new Error("the provider sent nothing for too long")));
  const hangUp = () => outgoing.destroy(new Error("the agent hung up"));
  gone.addEventListener("abort", hangUp, { once: true });
  const sent = systemClock.now().getTime();
  const unanswered = () => sentAlone(call, systemClock.now().getTime() - sent);
  outgoing.end(bytes);
  try {
    const incoming = await once(outgoing, "response").then(
      ([arrived]: IncomingMessage[]) => arrived,
      (error: unknown) => errorMessage(error),
    );
    if (gone.aborted) return { outcome: "cancelled", usage: unanswered(), finish: () => undefined };
    if (incoming === undefined || typeof incoming === "string") {
      // A provider that has the whole request may read it, and charge for it, also where its response is lost.
      const usage = outgoing.writableFinished && method.generates ? unanswered() : NOTHING;
      return { outcome: "broken", usage, finish: respond(502, `${call.provider}: ${incoming}`) };
    }
    const { statusCode: status = 502 } = incoming;
    if (status >= 300 && status < 400) {
      // Another address must not get the key, nor the agent a way around the gateway.
      incoming.destroy();
      return {
        outcome: "failed",
        usage: NOTHING,
        finish: respond(502, `${call.provider} redirects elsewhere`),
      };
    }
    return await passOn(allowed, incoming, status);
  } finally {
    gone.removeEventListener("abort", hangUp);
  }
}

/** Passes a response on while it is counted, and cuts it off where a budget is used up. */
async function passOn(
  { call, method, admission, agent }: AllowedCall,
  incoming: IncomingMessage,
  status: number,
): Promise<Exchanged> {
  const { response, gone } = agent;
  const { "content-type": type = "", "content-encoding": encoding = "identity" } = incoming.headers;
  const isEvents = /^text\/event-stream\b/i.test(type);
  // What Gemini streams where no events are asked for.
  const isList = call.isStreamed && !isEvents && call.provider === "gemini";
  const readable = isEvents ? "events" : isList ? "list" : "document";
  const counter = new UsageCounter(method.dialect, {
    form: encoding === "identity" ? readable : "unreadable",
    ...{ estimatedInput: call.estimatedInput, maxOutput: call.maxOutput, goesOn: call.isBackground },
  });
  const usage = () => (status < 400 && method.generates ? counter.end() : NOTHING);
  response.writeHead(status, passedHeaders(incoming.headers));
  response.flushHeaders();
  let left: Spending = admission.room();
  const isSpent = () => {
    const counts = counter.soFar;
    const spent = { tokens: totalTokens(counts), cost: call.costOf(counts) ?? 0 };
    const exceeds = () => spent.tokens > left.tokens || spent.cost > left.cost;
    if (!exceeds()) return false;
    // Other calls may have ended meanwhile, and used less than was kept for them.
    left = admission.room();
    return exceeds();
  };
  try {
    for await (const chunk of incoming) {
      counter.push(chunk);
      if (gone.aborted) break;
      if (!response.write(chunk)) await once(response, "drain", { signal: gone });
      if (readable === "document" || !method.generates || !isSpent()) continue;
      const json = method.dialect.error(403, "Reins ended the response: a budget is used up");
      const end = isList ? `,\n${JSON.stringify(json)}]` : sseText({ event: "error", json });
      return { outcome: "cut", usage: usage(), finish: () => void response.end(end) };
    }
  } catch {
    if (!gone.aborted) return { outcome: "broken", usage: usage(), finish: () => response.destroy() };
  }
  if (gone.aborted) return { outcome: "cancelled", usage: usage(), finish: () => undefined };
  return {
    outcome: status < 400 ? "completed" : "failed",
    usage: usage(),
    finish: () => void response.end(),
  };
}

/** How fast a model writes that writes fast. */
const TOKENS_PER_MS = 0.1;

/**
 * The usage of a call of which no response came: its input at most was read, unless its model writes all the same. One
 * that does not stream its response was at it all the time.
 */
function sentAlone(
  { estimatedInput, maxOutput, isBackground, isStreamed }: ModelCall,
  ms: number,
): CountedUsage {
  const written = isStreamed ? 0 : Math.min(maxOutput, Math.ceil(ms * TOKENS_PER_MS));
  return { ...NOTHING, input: estimatedInput, output: isBackground ? maxOutput : written, estimated: true };
}

/** Headers that are about one connection, or about who asks. */
const NOT_SENT = new Set([
  ...["connection", "keep-alive", "proxy-authenticate", "proxy-authorization", "proxy-connection", "te"],
  ...["trailer", "transfer-encoding", "upgrade", "expect", "host", "content-length", "accept-encoding"],
  // Google's servers take another method for that of the request.
  ...["x-http-method-override", "x-http-method", "x-method-override"],
  ...["authorization", "x-api-key", "x-goog-api-key", "cookie", "origin", "referer", "forwarded"],
]);

/** The headers of an agent's request that are sent on. */
export function sentHeaders(given: IncomingHttpHeaders): OutgoingHttpHeaders {
  const named = new Set((given.connection ?? "").toLowerCase().split(/ *, */));
  return Object.fromEntries(
    Object.entries(given).filter(([name]) => !NOT_SENT.has(name) && !named.has(name)),
  );
}

function headersFor(
  provider: Provider,
  key: string,
  given: IncomingHttpHeaders,
  length: number,
): OutgoingHttpHeaders {
  const credentials: Readonly<Record<Provider, OutgoingHttpHeaders>> = {
    anthropic: { "x-api-key": key },
    openai: { authorization: `Bearer ${key}` },
    gemini: { "x-goog-api-key": key },
  };
  // It was decided as JSON in UTF-8, and is to be read so.
  const type = { "content-type": "application/json" };
  const own = { ...type, "content-length": length, "accept-encoding": "identity" };
  return { ...sentHeaders(given), ...own, ...credentials[provider] };
}

const NOT_PASSED = new Set([
  "connection",
  "keep-alive",
  "transfer-encoding",
  "trailer",
  "upgrade",
  "set-cookie",
]);

function passedHeaders(given: IncomingHttpHeaders): OutgoingHttpHeaders {
  return Object.fromEntries(Object.entries(given).filter(([name]) => !NOT_PASSED.has(name)));
}
