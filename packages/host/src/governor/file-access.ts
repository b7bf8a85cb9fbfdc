import { resolve } from "node:path";
import { CODE, isObject, type JsonObject, RpcError, readParams, readResult } from "@reins/acp";
import { blake3Hex } from "@reins/ledger";
import { type ActionPayload, confirmRights } from "../control/control-point.ts";
import { enforce } from "../control/enforce.ts";
import { perform, refusal } from "../control/outcome.ts";
import type { ControlContext, Descent } from "../control/scope.ts";
import { covers, seenOf } from "./claims.ts";
import type { GovernedSession, Turn } from "./governed-session.ts";
import { promptText } from "./prompt-content.ts";
import { type LineRange, readText, realPlace, writeText } from "./text-file.ts";
import type { Written } from "./tool-calls.ts";

const READ = "fs/read_text_file";
const WRITE = "fs/write_text_file";

/** The methods of the file system that Reins serves. */
export const FILE_METHODS = [READ, WRITE] as const;
type FileMethod = (typeof FILE_METHODS)[number];

/** How long a client may take to read or write a file. */
const CLIENT_MS = 10_000;

/** Reads or writes a file for an agent, after the verdict. */
export async function serveFile(
  session: GovernedSession,
  method: FileMethod,
  params: JsonObject,
  signal: AbortSignal,
): Promise<unknown> {
  const access = accessIn(method, params);
  const { path } = access;
  const { roots, realRoots = roots } = session.workspace;
  const waiting = session.within(signal);
  const carryOut = async () => {
    waiting.throwIfAborted();
    const served = await byClient(session, method, membersOf(access), waiting);
    if (served !== undefined) return served;
    waiting.throwIfAborted();
    return access.kind === "write"
      ? writeText(path, access.content, realRoots)
      : readText(path, access.range, realRoots);
  };
  const serve = () => (access.kind === "write" ? withSnapshot(session, access, carryOut) : carryOut());
  const permit = await takePermit(session, method, access, waiting);
  try {
    if (permit) return await performPermitted(access, permit, serve);
    const call = await enforceAccess(session, method, access, waiting);
    return await perform(session, call, serve);
  } catch (error) {
    throw fileError(error, path);
  }
}

/** Performs what a permit covers. What was written is recorded with the call that the permit was given to. */
async function performPermitted<Value>(
  access: Access,
  { onWritten }: UsedPermit,
  serve: () => Promise<Value>,
): Promise<Value> {
  if (access.kind === "read") return serve();
  const written = { path: access.path, content_hash: blake3Hex(access.content) };
  try {
    const value = await serve();
    onWritten({ ...written, outcome: "completed" });
    return value;
  } catch (error) {
    onWritten({ ...written, outcome: "failed" });
    throw error;
  }
}

/** Writes a file after what it was is kept. */
async function withSnapshot<Value>(
  session: GovernedSession,
  { path, content }: Extract<Access, { kind: "write" }>,
  write: () => Promise<Value>,
): Promise<Value> {
  const { context, record } = session;
  const kept = keptWith(session, context);
  if (!context.snapshots || !kept) return write();
  const place = { tenant: record.tenant, session: kept.session };
  return context.snapshots.change(place, kept.turn, { path: await realPlace(path), content }, write);
}

/** The session and the turn with which is kept what a file was. */
export type KeptWith = NonNullable<Descent["keptWith"]>;

/**
 * With which turn is kept what a file was before it is changed now: the one under way, outside of all turns what follows
 * the last one. `undefined` for a session that no agent has.
 */
export function keptWith(
  session: GovernedSession | undefined,
  { now }: Pick<ControlContext, "now">,
): KeptWith | undefined {
  if (!session) return undefined;
  const { id, turn, lastTurn = "", descent } = session;
  const prompt = turn?.prompt();
  const own = {
    id: turn?.id ?? `after:${lastTurn}`,
    at: turn?.started ?? now().toISOString(),
    prompt: Array.isArray(prompt) ? promptText(prompt) : "",
  };
  return descent?.keptWith ?? { session: id, turn: own };
}

/** A permit that is used for a file; a write is ended by the call. */
interface UsedPermit {
  readonly onWritten: (written: Written) => void;
}

/** What an agent wants of a file. */
type Access =
  | { readonly kind: "read"; readonly path: string; readonly range: LineRange }
  | { readonly kind: "write"; readonly path: string; readonly content: string };

function accessIn(method: FileMethod, params: JsonObject): Access {
  const { path = "", line, limit } = readParams(READ, params);
  if (!path.startsWith("/")) throw new RpcError(CODE.invalidParams, "a path is absolute");
  if (method === READ) return { kind: "read", path, range: { line, limit } };
  const { content } = readParams(WRITE, params);
  if (content === undefined) throw new RpcError(CODE.invalidParams, "what is written is text");
  return { kind: "write", path, content };
}

/** What a client is asked: only what was decided. */
function membersOf(access: Access): JsonObject {
  const { path } = access;
  if (access.kind === "write") return { path, content: access.content };
  const { line, limit } = access.range;
  return { path, ...(line !== undefined && { line }), ...(limit !== undefined && { limit }) };
}

async function enforceAccess(
  session: GovernedSession,
  method: FileMethod,
  access: Access,
  signal: AbortSignal,
): Promise<{ readonly tool: string; readonly entry: string | undefined }> {
  const { path } = access;
  const given = { path, ...(access.kind === "write" && { content: access.content }) };
  const point = { kind: "file_access", tool: method, arguments: given } as const;
  const enforced = await enforce(session, point, { signal });
  if (enforced.kind !== "allowed") throw await refusal(`${method} of ${path}`, enforced.verdict);
  return { tool: method, entry: enforced.verdict.entry };
}

/**
 * Has a client that offers it read or write the file, because an editor knows what is not saved yet; nothing where none
 * does, or where it cannot: then the disk has it.
 */
async function byClient(
  session: GovernedSession,
  method: string,
  params: JsonObject,
  signal: AbortSignal,
): Promise<unknown> {
  const { clients } = session;
  const only = clients.whoServes?.(method, params);
  if (only === undefined) return undefined;
  const late = AbortSignal.timeout(CLIENT_MS);
  try {
    const asked = { ...params, sessionId: session.id };
    const { value } = await clients.request(method, asked, AbortSignal.any([signal, late]), { only });
    if (method === WRITE) return value ?? {};
    return readResult("fs/read_text_file", value).content === undefined ? undefined : value;
  } catch (error) {
    const isUnable = error instanceof RpcError && error.code === CODE.methodNotFound;
    // What a client may have written is not written once more.
    if (method === WRITE && !isUnable) throw error;
    if (signal.aborted) throw error;
    return undefined;
  }
}

/**
 * The verdict of a call that lets exactly this be done, if there is one of this turn that was about the file. What is
 * written has to follow from the arguments that were decided: another content needs a verdict of its own, and so does a
 * write after the call has ended.
 */
async function takePermit(
  session: GovernedSession,
  method: FileMethod,
  access: Access,
  signal: AbortSignal,
): Promise<UsedPermit | undefined> {
  const { kind, path } = access;
  const { turn } = session;
  if (turn?.isOver) return undefined;
  const found = session.permits.find(kind, path).filter((permit) => permit.turn === turn);
  if (found.length === 0 || !(await hasRights(session))) return undefined;
  const call = { tool_name: method, arguments: { path } };
  const { files: wanted } = await seenOf(session, call, "acp");
  for (const permit of found) {
    const { files: decided, runs, opaque } = await seenOf(session, permit.call, "agent");
    const isCovered = wanted.length > 0 && wanted.every((one) => decided.some((other) => covers(other, one)));
    if (!isCovered) continue;
    if (access.kind === "write") {
      if (runs || opaque) continue;
      const content = await contentAfter(permit.call.arguments, () => currentText(session, path, signal));
      if (content !== access.content) continue;
    }
    if (!session.permits.use(permit)) continue;
    if (access.kind === "read") return { onWritten: () => undefined };
    const onWritten = session.toolCalls.beginWrite(permit.id, permit.entry);
    if (onWritten) return { onWritten };
  }
  return undefined;
}

/** The text of a file where it is to be written, empty where there is none yet; nothing where it cannot be read. */
async function currentText(
  session: GovernedSession,
  path: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const { roots, realRoots = roots } = session.workspace;
  try {
    const read = (await byClient(session, READ, { path }, signal)) ?? (await readText(path, {}, realRoots));
    return readResult(READ, read).content;
  } catch (error) {
    return errorCode(error) === "ENOENT" ? "" : undefined;
  }
}

/** Whether the principal of a session has its rights still; without them, no earlier verdict counts. */
function hasRights(session: GovernedSession): Promise<boolean> {
  return confirmRights(session).then(
    () => true,
    () => false,
  );
}

function fileError(error: unknown, path: string): RpcError {
  if (errorCode(error) === "ENOENT")
    return new RpcError(CODE.notFound, `there is no file ${path}`, { uri: path });
  return RpcError.of(error);
}

function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error ? String(error.code) : "";
}

/** What an agent said it would do to a file when a verdict let its call through. */
export interface FilePermit {
  readonly access: "read" | "write";
  readonly path: string;
  /** The tool call it was given to, as it was decided. */
  readonly id: string;
  readonly call: ActionPayload;
  readonly entry: string | undefined;
  /** The turn it was given in, with which it ends. */
  readonly turn: Turn | undefined;
}

const MAX_PERMITS = 1_000;

/**
 * Verdicts about files that the agent will ask Reins to read or write. An agent that first asks permission and then
 * writes through the harness is decided about once. Which files a call is about is what the agent says: whether the
 * verdict was about them too is checked when a permit is used.
 */
export class FilePermits {
  readonly #permits: FilePermit[] = [];

  /** Remembers a verdict. */
  add(permit: FilePermit): void {
    this.#permits.push({ ...permit, path: resolve(permit.path) });
    if (this.#permits.length > MAX_PERMITS) this.#permits.shift();
  }

  /** The verdicts that may let this be done, oldest first. */
  find(access: FilePermit["access"], path: string): readonly FilePermit[] {
    const wanted = resolve(path);
    return this.#permits.filter((permit) => permit.access === access && permit.path === wanted);
  }

  /** Uses a verdict, once for a write; whether it was still there. */
  use(permit: FilePermit): boolean {
    const index = this.#permits.indexOf(permit);
    if (index >= 0 && permit.access === "write") this.#permits.splice(index, 1);
    return index >= 0;
  }
}

/** Members that hold the whole text of a file, by the tools that write one. */
const WHOLE = ["content", "file_text"] as const;
/** Members that hold what an edit replaces, and what it puts there. */
const REPLACED = [
  ["old_string", "new_string"],
  ["oldString", "newString"],
  ["oldText", "newText"],
  ["old_str", "new_str"],
] as const;
const EVERYWHERE = ["replace_all", "replaceAll"] as const;

/**
 * The text that a file has after a call with these arguments; nothing where it does not follow from them. `current`
 * reads the text that an edit is applied to, if it can.
 */
export async function contentAfter(
  given: unknown,
  current: () => Promise<string | undefined>,
): Promise<string | undefined> {
  if (!isObject(given)) return undefined;
  const whole = WHOLE.filter((name) => Object.hasOwn(given, name)).map((name) => given[name]);
  const edits = editsIn(given);
  if (whole.length > 0) {
    const [text] = whole;
    return whole.length === 1 && edits.length === 0 && typeof text === "string" ? text : undefined;
  }
  if (edits.length === 0) return undefined;
  let text = await current();
  for (const edit of edits) text = text === undefined || !edit ? undefined : applied(text, edit);
  return text;
}

interface Edit {
  readonly before: string;
  readonly after: string;
  readonly everywhere: boolean;
}

/** The edits in some arguments: of one that cannot be read, nothing. */
function editsIn(given: JsonObject): readonly (Edit | undefined)[] {
  const isOne = REPLACED.some((names) => names.some((name) => Object.hasOwn(given, name)));
  if (!Object.hasOwn(given, "edits")) return isOne ? [editIn(given)] : [];
  return isOne || !Array.isArray(given.edits) ? [undefined] : given.edits.map(editIn);
}

function editIn(given: unknown): Edit | undefined {
  if (!isObject(given)) return undefined;
  const named = REPLACED.filter((names) => names.some((name) => Object.hasOwn(given, name)));
  const [[old, next] = []] = named;
  if (named.length !== 1 || old === undefined || next === undefined) return undefined;
  const { [old]: before, [next]: after } = given;
  if (typeof before !== "string" || typeof after !== "string") return undefined;
  return { before, after, everywhere: EVERYWHERE.some((name) => given[name] === true) };
}

/** A text after an edit; nothing where what it replaces is not there, or not once. */
function applied(text: string, { before, after, everywhere }: Edit): string | undefined {
  if (before === "") return text === "" ? after : undefined;
  const parts = text.split(before);
  if (parts.length === 1 || (parts.length > 2 && !everywhere)) return undefined;
  return parts.join(after);
}
