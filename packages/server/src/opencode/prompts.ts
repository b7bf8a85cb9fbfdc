import { randomBytes } from "node:crypto";
import { CODE, type JsonObject, RpcError } from "@reins/acp";
import type { OpenCodePrompt, OpenCodePromptPart, ProblemCode } from "@reins/api";
import { type Connection, type Hosting, QUEUE_FULL, REFUSED, type SessionRecord, turnsOf } from "@reins/host";
import { errorMessage } from "@reins/kit";
import type { Principal } from "@reins/supervisor";
import { base64Bytes, HttpProblem } from "../problems.ts";
import type { EventStreams } from "./event-stream.ts";
import { orderedId, SHOWN_MODEL, type ShownMessage, sessionIdOf, sessionIn } from "./shapes.ts";
import { MESSAGE_ID, SessionTranscript, type TranscriptSession } from "./transcript.ts";

/** The most messages of a session that are listed. */
const MOST_MESSAGES = 1_000;
const NONE = new AbortController().signal;

/** A session that the principal may see and that was not ended. */
export async function expectSession(
  { hub }: Pick<Hosting, "hub">,
  principal: Principal,
  given: string,
): Promise<SessionRecord> {
  const id = sessionIn(given);
  const record = id === undefined ? undefined : await hub.find(principal, id);
  if (record && !record.ended) return record;
  throw new HttpProblem("not_found", `there is no session ${given}`);
}

/** Uses a connection of its own for one request of a client; errors become problems. */
export async function throughHub<Result>(
  { hub }: Pick<Hosting, "hub">,
  options: { readonly principal: Principal; readonly agent?: string },
  use: (connection: Connection) => Promise<Result>,
): Promise<Result> {
  const connection = await hub.connect(options);
  try {
    return await use(connection);
  } catch (error) {
    throw rpcProblem(error);
  } finally {
    hub.disconnect(connection);
  }
}

const PROBLEMS: ReadonlyMap<number, ProblemCode> = new Map([
  [CODE.invalidParams, "invalid"],
  [CODE.invalidRequest, "invalid"],
  [CODE.notFound, "not_found"],
  [CODE.methodNotFound, "not_implemented"],
  [CODE.quotaExceeded, "too_many_requests"],
  [CODE.cancelled, "conflict"],
  [QUEUE_FULL, "conflict"],
  [REFUSED, "forbidden"],
] as const);

/** Maps an error of the hub or of an agent to a problem. */
function rpcProblem(error: unknown): unknown {
  if (!(error instanceof RpcError)) return error;
  return new HttpProblem(PROBLEMS.get(error.code) ?? "bad_gateway", errorMessage(error), { cause: error });
}

export function newTranscript(
  { catalogue }: Pick<Hosting, "catalogue">,
  { id, agent, cwd }: SessionRecord,
  most = MOST_MESSAGES,
): SessionTranscript {
  const session: TranscriptSession = { id, agent, cwd, entry: namingOf(catalogue, agent) };
  return new SessionTranscript(session, most);
}

/** How an agent names its tools; as the built-in one for an agent that left the catalogue. */
function namingOf(catalogue: Hosting["catalogue"], agent: string): TranscriptSession["entry"] {
  return catalogue.entries.find(({ id }) => id === agent) ?? catalogue.entry("native");
}

/** The messages of the log to fold: after one position, up to another; and how many messages to keep. */
interface TranscriptRange {
  readonly after?: number;
  readonly until?: number;
  readonly most?: number;
}

/** Folds what is stored of a session after a position. */
export async function readTranscript(
  hosting: Pick<Hosting, "hub" | "catalogue">,
  record: SessionRecord,
  { after = 0, until = Number.POSITIVE_INFINITY, most = MOST_MESSAGES }: TranscriptRange = {},
): Promise<SessionTranscript> {
  const { log } = hosting.hub;
  const transcript = newTranscript(hosting, record, most);
  await log.written();
  for (let position = after; ; ) {
    const page = await log.page(record.tenant, [record.id, turnsOf(record.id)], position);
    for (const event of page) if (event.order <= until) transcript.take(event);
    const last = page.at(-1);
    if (!last || last.order >= until) return transcript;
    position = last.order;
  }
}

/** A prompt that can be run: its session exists, and everything in it is mapped. */
export interface ReadyPrompt {
  readonly record: SessionRecord;
  readonly principal: Principal;
  readonly messageID: string;
  readonly params: JsonObject;
}

/** Reads a prompt. Throws a problem for what is not mapped. */
export function readPrompt(
  record: SessionRecord,
  principal: Principal,
  body: OpenCodePrompt,
  now: number,
): ReadyPrompt {
  const { agent, model, messageID = newMessageId(now), parts } = body;
  if (!MESSAGE_ID.test(messageID))
    throw new HttpProblem("invalid", "a messageID is msg_ and up to 64 letters and digits");
  if (agent !== undefined && agent !== record.agent)
    throw new HttpProblem(
      "conflict",
      `the agent of this session is ${record.agent}; start another session for ${agent}`,
    );
  if (model) expectModel(model);
  for (const member of ["noReply", "system", "tools", "format"] as const)
    if (body[member] !== undefined && body[member] !== false)
      throw new HttpProblem("not_implemented", `prompts with "${member}" are not mapped`);
  const prompt = parts.map(blockOf);
  const params = { sessionId: record.id, prompt, _meta: { reins: { prompt: messageID } } };
  return { record, principal, messageID, params };
}

/** The names that clients gave to prompts under way: a request that is sent again is not another prompt. */
export class PromptNames {
  readonly #underWay = new Set<string>();

  /** Throws a problem where the session has a message of that name. */
  async take(hosting: Pick<Hosting, "hub" | "catalogue">, prompt: ReadyPrompt): Promise<void> {
    const { record, messageID } = prompt;
    const taken = new HttpProblem("conflict", `there is a message ${messageID} already`);
    if (this.#underWay.has(keyOf(prompt))) throw taken;
    this.#underWay.add(keyOf(prompt));
    try {
      const { messages } = await readTranscript(hosting, record, { most: Number.POSITIVE_INFINITY });
      if (messages.some(({ info }) => info.id === messageID)) throw taken;
    } catch (error) {
      this.release(prompt);
      throw error;
    }
  }

  /** Called once the prompt is in the log, or has failed. */
  release(prompt: ReadyPrompt): void {
    this.#underWay.delete(keyOf(prompt));
  }
}

function keyOf({ record, messageID }: ReadyPrompt): string {
  return `${record.id} ${messageID}`;
}

/** Rejects a model that is not offered: an agent chooses its own. */
export function expectModel({
  providerID,
  modelID,
}: {
  readonly providerID: string;
  readonly modelID: string;
}): void {
  if (providerID === SHOWN_MODEL.providerID && modelID === SHOWN_MODEL.modelID) return;
  throw new HttpProblem("invalid", `there is one model, ${SHOWN_MODEL.providerID}/${SHOWN_MODEL.modelID}`);
}

function newMessageId(now: number): string {
  return `${orderedId("msg", { at: now, order: 0 }).slice(0, "msg_".length + 12)}${randomBytes(7).toString("hex")}`;
}

const DATA_URL = /^data:([^;,]*)(;base64)?,/i;

/** A part of a prompt as a block of ACP. */
function blockOf(part: OpenCodePromptPart): JsonObject {
  switch (part.type) {
    case "text":
      return { type: "text", text: part.text };
    case "file": {
      const { mime, url, filename = "file" } = part;
      const [head, , encoded] = DATA_URL.exec(url) ?? [];
      if (head === undefined) {
        if (!/^(file|https?):\/\//i.test(url))
          throw new HttpProblem("invalid", "the url of a file begins with data:, file:, http: or https:");
        return { type: "resource_link", uri: url, name: filename, mimeType: mime };
      }
      if (encoded === undefined) throw new HttpProblem("invalid", "the data of a file is base64");
      const data = url.slice(head.length);
      const bytes = base64Bytes(data);
      if (mime.startsWith("image/")) return { type: "image", data, mimeType: mime };
      if (mime.startsWith("audio/")) return { type: "audio", data, mimeType: mime };
      const uri = `attachment:///${encodeURIComponent(filename)}`;
      if (mime.startsWith("text/") || mime === "application/json")
        return {
          type: "resource",
          resource: { uri, mimeType: mime, text: bytes.toString() },
        };
      return { type: "resource", resource: { uri, mimeType: mime, blob: data } };
    }
    default:
      throw new HttpProblem("not_implemented", `parts of the type "${part.type}" are not mapped`);
  }
}

/** Runs a prompt until its turn is over and was sent to those who follow it; returns the message of the assistant. */
export async function runPrompt(
  hosting: Hosting,
  ready: ReadyPrompt,
  streams: Pick<EventStreams, "sent">,
): Promise<ShownMessage> {
  const { record, principal, messageID, params } = ready;
  const { order: after } = await hosting.hub.log.end(record.tenant);
  await throughHub(hosting, { principal, agent: record.agent }, (connection) =>
    connection.request("session/prompt", params, NONE),
  );
  await streams.sent(hosting, record);
  const { messages } = await readTranscript(hosting, record, { after });
  const answer = messages.find(({ info }) => info.role === "assistant" && info.parentID === messageID);
  if (answer) return answer;
  throw new HttpProblem("conflict", `the prompt of ${sessionIdOf(record.id)} was cancelled before its turn`);
}
