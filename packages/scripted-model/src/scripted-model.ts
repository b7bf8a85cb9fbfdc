import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { errorMessage, LoopbackServer } from "@reins/kit";
import { respondJson, sendAnswer } from "./answer.ts";
import type { Conversation } from "./conversation.ts";
import { anthropic } from "./dialect/anthropic.ts";
import type { Dialect } from "./dialect/dialect.ts";
import { gemini } from "./dialect/gemini.ts";
import { openaiChat } from "./dialect/openai-chat.ts";
import { openaiResponses } from "./dialect/openai-responses.ts";
import type { Wordings } from "./intent.ts";
import { readJsonBody, UnreadableRequest } from "./request-body.ts";
import type { Script } from "./script.ts";
import { speak } from "./spoken-parts.ts";
import type { ModelStep } from "./step.ts";

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

/** What a scripted model is made of. */
export interface ScriptedModelOptions {
  readonly script: Script;
  /** How the tools of the agents that will ask carry out intents. */
  readonly wordings?: readonly Wordings[];
}

/**
 * A model that says what a script tells it to, to any agent, without a network: one server on loopback that speaks the
 * protocols of Anthropic, OpenAI and Google.
 */
export class ScriptedModel implements AsyncDisposable {
  /** Its address, without a slash at the end, and the key it expects. */
  readonly endpoint: { readonly url: string; readonly key: string };
  readonly #server: LoopbackServer;
  readonly #wordings: readonly Wordings[];
  readonly #requests: SeenRequest[] = [];
  #script: Script;

  private constructor(server: LoopbackServer, { script, wordings = [] }: ScriptedModelOptions) {
    this.#server = server;
    this.#script = script;
    this.#wordings = wordings;
    this.endpoint = { url: server.url, key: "scripted-key" };
    server.serve((request, response) => void this.#serve(request, response));
  }

  /** Starts on a free port of loopback. */
  static async listen(options: ScriptedModelOptions): Promise<ScriptedModel> {
    return new ScriptedModel(await LoopbackServer.listen(), options);
  }

  /** What was asked, oldest first; only the last 500 are kept. */
  get requests(): readonly SeenRequest[] {
    return this.#requests;
  }

  /** Goes on with another script. */
  play(script: Script): void {
    this.#script = script;
  }

  /** Forgets what was asked. */
  forget(): void {
    this.#requests.length = 0;
  }

  /** Stops, and drops whoever is still being answered. */
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
    const conversation = dialect.read(path, body);
    const step = await this.#script(conversation);
    const { parts, unmet } = speak(step.kind === "error" ? [] : step.parts, this.#wordings, conversation);
    this.#requests.push({ conversation, key: keyOf(request), step, unmet });
    if (this.#requests.length > KEPT_REQUESTS) this.#requests.shift();
    if (step.kind === "error") {
      const after = step.retryAfterSeconds;
      const headers = after === undefined ? {} : { "retry-after": String(after) };
      respondJson(response, step.status, dialect.error(step.status, step.message), headers);
      return;
    }
    const ending = step.kind === "cut" ? "cut" : step.stop;
    await sendAnswer(response, dialect, conversation, {
      id: randomUUID().replaceAll("-", ""),
      parts,
      ending,
    });
  }
}

function serveAside(response: ServerResponse, path: string): void {
  const aside = asideOf(path);
  if (aside !== undefined) respondJson(response, 200, aside);
  else respondJson(response, 404, { error: { message: `There is no ${path} here.` } });
}

function asideOf(path: string): unknown {
  if (path === "/") return {};
  if (!path.endsWith("/models")) {
    return DIALECTS.map((dialect) => dialect.aside(path)).find((found) => found !== undefined);
  }
  const entry = { id: "scripted", name: "models/scripted", object: "model", type: "model" };
  return { object: "list", data: [entry], models: [entry], has_more: false };
}

function keyOf({ headers }: IncomingMessage): string | undefined {
  const bearer = headers.authorization?.replace(/^Bearer /i, "");
  const key = headers["x-api-key"] ?? headers["x-goog-api-key"] ?? bearer;
  return Array.isArray(key) ? key[0] : key;
}
