import { randomUUID } from "node:crypto";
import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import { promisify } from "node:util";
import { brotliDecompress, gunzip, inflate, zstdDecompress } from "node:zlib";
import { errorMessage, LoopbackServer, readLimited } from "@reins/kit";
import { anthropic } from "./anthropic.ts";
import {
  type Conversation,
  type Dialect,
  readRequest,
  type ScriptedUsage,
  type StopEnding,
} from "./dialect.ts";
import { gemini } from "./gemini.ts";
import { type ReadyPart, speak, type Wordings } from "./intent.ts";
import { openaiChat, openaiResponses } from "./openai.ts";
import type { ModelStep, Script } from "./script.ts";

const DIALECTS: readonly Dialect[] = [anthropic, openaiChat, openaiResponses, gemini];
const KEPT_REQUESTS = 500;

/** A request that a scripted model has answered. */
export interface SeenRequest {
  readonly conversation: Conversation;
  /** The key that the agent showed, in whichever header its dialect uses. */
  readonly key: string | undefined;
  readonly step: ModelStep;
  /** Intents for which the agent had no tool on offer; a text was said instead. */
  readonly unmet: readonly string[];
}

/** Options of a scripted model. */
export interface ScriptedModelOptions {
  readonly script: Script;
  /** How the tools of the agents that will ask carry out intents. */
  readonly wordings?: readonly Wordings[];
  /** Whether answers say about how many tokens request and answer have, instead of the same few for each. */
  readonly estimatesUsage?: boolean;
}

/**
 * A model that plays a script, for any agent, without a network: one server on loopback that speaks the
 * protocols of Anthropic, OpenAI and Google.
 */
export class ScriptedModel implements AsyncDisposable {
  /** Its address, without a slash at the end, and the key it expects. */
  readonly endpoint: { readonly url: string; readonly key: string };
  readonly #server: LoopbackServer;
  readonly #wordings: readonly Wordings[];
  readonly #requests: SeenRequest[] = [];
  readonly #estimatesUsage: boolean;
  #script: Script;

  private constructor(
    server: LoopbackServer,
    { script, wordings = [], estimatesUsage = false }: ScriptedModelOptions,
  ) {
    this.#server = server;
    this.#estimatesUsage = estimatesUsage;
    this.#script = script;
    this.#wordings = wordings;
    this.endpoint = { url: server.url, key: "scripted-key" };
    server.serve((request, response) => void this.#serve(request, response));
  }

  /** Starts on a free port of loopback. */
  static async listen(options: ScriptedModelOptions): Promise<ScriptedModel> {
    return new ScriptedModel(await LoopbackServer.listen(), options);
  }

  /** The last 500 requests, oldest first. */
  get requests(): readonly SeenRequest[] {
    return this.#requests;
  }

  /** Replaces the script. */
  play(script: Script): void {
    this.#script = script;
  }

  /** Clears the recorded requests. */
  forget(): void {
    this.#requests.length = 0;
  }

  /** Stops, and closes open connections. */
  close(): Promise<void> {
    return this.#server.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const path = new URL(request.url ?? "/", "http://localhost").pathname;
    const dialect = DIALECTS.find((each) => each.answers(path));
    try {
      const body = await readJsonBody(request);
      if (dialect && request.method === "POST") await this.#answer(request, response, dialect, path, body);
      else serveAside(response, path);
    } catch (error) {
      if (response.headersSent || response.destroyed) {
        response.destroy();
        return;
      }
      const status = error instanceof UnreadableRequest ? error.status : 500;
      const message = errorMessage(error);
      respondJson(response, status, dialect?.error(status, message) ?? { error: { message } });
    }
  }

  async #answer(
    request: IncomingMessage,
    response: ServerResponse,
    dialect: Dialect,
    path: string,
    body: unknown,
  ): Promise<void> {
    const read = readRequest(dialect, path, body);
    const step = await this.#script(read);
    const conversation = this.#estimatesUsage ? { ...read, usage: estimated(body, step) } : read;
    const { parts, unmet } = speak(step.kind === "error" ? [] : step.parts, this.#wordings, conversation);
    this.#requests.push({ conversation, key: keyOf(request), step, unmet });
    if (this.#requests.length > KEPT_REQUESTS) this.#requests.shift();
    if (step.kind === "error") {
      const after = step.retryAfterSeconds;
      const headers = after === undefined ? {} : { "retry-after": String(after) };
      respondJson(response, step.status, dialect.error(step.status, step.message), headers);
      return;
    }
    const id = randomUUID().replaceAll("-", "");
    const ending = step.kind === "cut" ? "cut" : step.stop;
    if (conversation.streamed) return stream(response, dialect, conversation, { id, parts, ending });
    for (const part of parts) if (part.kind === "hold") await untilOrGone(part.until, response);
    const spoken = parts.filter((part) => part.kind !== "hold");
    if (ending === "cut") response.destroy();
    else respondJson(response, 200, dialect.whole(conversation, id, spoken, ending));
  }
}

function serveAside(response: ServerResponse, path: string): void {
  const aside = path.endsWith("/models")
    ? { object: "list", data: [MODEL], models: [MODEL], has_more: false }
    : path === "/"
      ? {}
      : DIALECTS.map((dialect) => dialect.aside?.(path)).find((found) => found !== undefined);
  if (aside !== undefined) respondJson(response, 200, aside);
  else respondJson(response, 404, { error: { message: `There is no ${path} here.` } });
}

/** Characters of a token, roughly. */
const TOKEN = 4;

function estimated(body: unknown, step: ModelStep): ScriptedUsage {
  const tokens = (value: unknown) => Math.ceil(JSON.stringify(value).length / TOKEN);
  return { input: tokens(body), output: step.kind === "error" ? 0 : tokens(step.parts) };
}

const MODEL = { id: "scripted", name: "models/scripted", object: "model", type: "model" };

function keyOf({ headers }: IncomingMessage): string | undefined {
  const bearer = headers.authorization?.replace(/^Bearer /i, "");
  const key = headers["x-api-key"] ?? headers["x-goog-api-key"] ?? bearer;
  return Array.isArray(key) ? key[0] : key;
}

/** An answer in the asking agent's words. */
interface ModelAnswer {
  readonly id: string;
  readonly parts: readonly ReadyPart[];
  /** `cut` drops the connection, in the middle of the last part if that is a call. */
  readonly ending: StopEnding | "cut";
}

/** Sends one JSON document. */
function respondJson(
  response: ServerResponse,
  status: number,
  document: unknown,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers });
  response.end(JSON.stringify(document));
}

async function stream(
  response: ServerResponse,
  dialect: Dialect,
  conversation: Conversation,
  { id, parts, ending }: ModelAnswer,
): Promise<void> {
  const voice = dialect.voice(conversation, id);
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  await write(response, voice.begin());
  for (const [index, part] of parts.entries()) {
    if (response.destroyed) return;
    if (part.kind === "hold") await untilOrGone(part.until, response);
    else if (ending === "cut" && index === parts.length - 1 && part.kind === "call") {
      await write(response, voice.half(part));
    } else await write(response, voice.part(part));
  }
  if (ending === "cut") {
    response.destroy();
    return;
  }
  await write(response, voice.end(ending));
  response.end();
}

async function write(response: ServerResponse, pieces: readonly string[]): Promise<void> {
  for (const piece of pieces) {
    if (response.destroyed) return;
    // Written by the kernel before the next one, so that a cut comes after what was said and not instead of it.
    await new Promise<void>((resolve) => response.write(piece, () => resolve()));
  }
}

async function untilOrGone(event: PromiseLike<unknown>, response: ServerResponse): Promise<void> {
  if (response.destroyed) return;
  const over = new AbortController();
  await Promise.race([event, once(response, "close", { signal: over.signal })]).finally(() => over.abort());
}

const LIMIT = 32 * 1024 * 1024;

const DECODERS: Readonly<
  Record<string, (packed: Buffer, options: { maxOutputLength: number }) => Promise<Buffer>>
> = {
  gzip: promisify(gunzip),
  deflate: promisify(inflate),
  br: promisify(brotliDecompress),
  zstd: promisify(zstdDecompress),
};

/** A request that cannot be read, and the status that says so. */
class UnreadableRequest extends Error {
  override readonly name = "UnreadableRequest";
  readonly status: number;

  constructor(status: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.status = status;
  }
}

/** Reads a JSON body of at most 32 MiB, packed in any of the ways that agents pack theirs. */
async function readJsonBody(request: IncomingMessage): Promise<unknown> {
  const body = await readLimited(request, LIMIT);
  if (!body) throw new UnreadableRequest(413, "The request is larger than 32 MiB.");
  if (body.length === 0) return undefined;
  try {
    const decode = DECODERS[request.headers["content-encoding"] ?? ""];
    const text = decode ? await decode(body, { maxOutputLength: LIMIT }) : body;
    return JSON.parse(text.toString("utf8"));
  } catch (cause) {
    throw new UnreadableRequest(400, "The request is not JSON.", { cause });
  }
}
