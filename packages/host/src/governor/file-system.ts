import { CODE, type JsonObject, membersOf, RpcError } from "@reins/acp";
import { type ControlEvent, resultDraft } from "@reins/supervisor";
import { offerAsPermission } from "../control/ask-clients.ts";
import { refusal } from "../control/verdict-wire.ts";
import { readText, writeText } from "../files/text-file.ts";
import { covers, seenOf } from "./claims.ts";
import { agentOf, type GovernorContext, recordIn, requestContextIn, subjectIn } from "./context.ts";
import type { FilePermit } from "./file-permits.ts";
import type { GovernedSession } from "./governed-session.ts";

const READ = "fs/read_text_file";
const WRITE = "fs/write_text_file";

/** The methods of the file system that the harness serves. */
export const FILE_METHODS: ReadonlySet<string> = new Set([READ, WRITE]);

/** How long a client may take to read or write a file. */
const CLIENT_MS = 10_000;

/** Reads or writes a file for an agent, after the verdict; carried out by the harness itself. */
export async function serveFile(
  context: GovernorContext,
  session: GovernedSession,
  method: string,
  params: JsonObject,
  signal: AbortSignal,
): Promise<unknown> {
  const { path, content } = params;
  if (typeof path !== "string" || !path.startsWith("/"))
    throw new RpcError(CODE.invalidParams, "a path is absolute");
  if (method === WRITE && typeof content !== "string")
    throw new RpcError(CODE.invalidParams, "what is written is text");
  const access = method === WRITE ? "write" : "read";
  const permit = await takePermit(context, session, method, params);
  const entry = permit ? permit.entry : await decideFile(context, session, method, params, signal);
  const { roots, realRoots = roots } = session.workspace;
  try {
    const result =
      (await byClient(context, session, method, params, signal)) ??
      (access === "write"
        ? await writeText(path, String(content), realRoots)
        : await readText(path, params, realRoots));
    if (!permit) await conclude(context, session, { method, entry, outcome: "completed" });
    return result;
  } catch (error) {
    if (!permit) await conclude(context, session, { method, entry, outcome: "failed" });
    throw fileError(error, path);
  }
}

/**
 * Has a client that offers it read or write the file, because an editor knows what is not saved yet; nothing where none
 * does, or where it cannot: then the disk has it.
 */
async function byClient(
  context: GovernorContext,
  session: GovernedSession,
  method: string,
  params: JsonObject,
  signal: AbortSignal,
): Promise<unknown> {
  const clients = context.clients(session);
  const only = clients.whoServes?.(method, params);
  if (only === undefined) return undefined;
  const late = AbortSignal.timeout(CLIENT_MS);
  try {
    const asked = { ...params, sessionId: session.id };
    const { value } = await clients.request(method, asked, AbortSignal.any([signal, late]), { only });
    if (method === WRITE) return value ?? {};
    return typeof membersOf(value).content === "string" ? value : undefined;
  } catch (error) {
    const isUnable = error instanceof RpcError && error.code === CODE.methodNotFound;
    // What a client may have written is not written once more.
    if (method === WRITE && !isUnable) throw error;
    if (signal.aborted) throw error;
    return undefined;
  }
}

/** The verdict of a call that lets exactly this be done, if there is one that was about the file. */
async function takePermit(
  context: GovernorContext,
  session: GovernedSession,
  method: string,
  { path, content }: JsonObject,
): Promise<FilePermit | undefined> {
  const access = method === WRITE ? "write" : "read";
  const text = typeof content === "string" ? content : undefined;
  const permit = session.permits.take(access, String(path), text);
  if (!permit) return undefined;
  const call = { tool_name: method, arguments: { path } };
  const { files: wanted } = await seenOf(context, session, session.served, call);
  const { files: decided } = await seenOf(context, session, session.workspace, permit.call);
  const isCovered = wanted.length > 0 && wanted.every((one) => decided.some((other) => covers(other, one)));
  return isCovered ? permit : undefined;
}

async function decideFile(
  context: GovernorContext,
  session: GovernedSession,
  method: string,
  { path, content }: JsonObject,
  signal: AbortSignal,
): Promise<string | undefined> {
  const decided = await context.judge.decide({
    event: {
      ...eventOf(context, session),
      payload: { tool_name: method, arguments: { path, ...(content !== undefined && { content }) } },
    },
    subject: subjectIn(context, session, "performed"),
    requestContext: requestContextIn(session, session.served),
    waiting: { signal: session.turn ? AbortSignal.any([signal, session.turn.signal]) : signal },
    offer: offerAsPermission(context, session, method, { path, content }),
  });
  if (decided.verdict !== "allowed") throw await refusal(`${method} of ${String(path)}`, decided);
  if (decided.entry !== undefined) session.turn?.entries.push(decided.entry);
  return decided.entry;
}

function eventOf({ entry }: GovernorContext, session: GovernedSession): Omit<ControlEvent, "payload"> {
  const { id: session_id, depth } = session;
  return { event_type: "pre_action", session_id, agent_id: agentOf(entry, session), depth };
}

async function conclude(
  context: GovernorContext,
  session: GovernedSession,
  {
    method,
    entry,
    outcome,
  }: { readonly method: string; readonly entry: string | undefined; readonly outcome: string },
): Promise<void> {
  const subject = subjectIn(context, session, "performed");
  const call = await context.harness.supervisor.settle(subject, { event_type: "pre_action", entry });
  recordIn(context, session, [resultDraft(subject, { tool: method, outcome }, call)]);
}

function fileError(error: unknown, path: string): RpcError {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "ENOENT") return new RpcError(CODE.notFound, `there is no file ${path}`, { uri: path });
  return RpcError.of(error);
}
