import { resolve } from "node:path";
import { CODE, type JsonObject, RpcError, readParams, readResult } from "@reins/acp";
import type { ActionPayload } from "../control/control-point.ts";
import { enforce, perform } from "../control/enforce.ts";
import { refusal } from "../control/verdict.ts";
import { covers, seenOf } from "./claims.ts";
import type { GovernedSession } from "./governed-session.ts";
import { type LineRange, readText, writeText } from "./text-file.ts";

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
  const serve = async () =>
    (await byClient(session, method, params, signal)) ??
    (access.kind === "write"
      ? await writeText(path, access.content, realRoots)
      : await readText(path, access.range, realRoots));
  // A permit is completed with the call that it was given to.
  const permit = await takePermit(session, method, access);
  const call = permit ? undefined : await enforceAccess(session, method, access, signal);
  try {
    return await (call ? perform(session, call, serve) : serve());
  } catch (error) {
    throw fileError(error, path);
  }
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

async function enforceAccess(
  session: GovernedSession,
  method: FileMethod,
  access: Access,
  signal: AbortSignal,
): Promise<{ readonly tool: string; readonly entry: string | undefined }> {
  const waiting = session.within(signal);
  const { path } = access;
  const given = { path, ...(access.kind === "write" && { content: access.content }) };
  const point = { kind: "file_access", tool: method, arguments: given } as const;
  const enforced = await enforce(session, point, { signal: waiting });
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

/** The verdict of a call that lets exactly this be done, if there is one that was about the file. */
async function takePermit(
  session: GovernedSession,
  method: FileMethod,
  access: Access,
): Promise<FilePermit | undefined> {
  const { kind, path } = access;
  const permit = session.permits.take(kind, path, kind === "write" ? access.content : undefined);
  if (!permit) return undefined;
  const call = { tool_name: method, arguments: { path } };
  const { files: wanted } = await seenOf(session, call, "acp");
  const { files: decided } = await seenOf(session, permit.call, "agent");
  const isCovered = wanted.length > 0 && wanted.every((one) => decided.some((other) => covers(other, one)));
  return isCovered ? permit : undefined;
}

function fileError(error: unknown, path: string): RpcError {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  if (code === "ENOENT") return new RpcError(CODE.notFound, `there is no file ${path}`, { uri: path });
  return RpcError.of(error);
}

/** What an agent said it would do to a file when a verdict let its call through. */
export interface FilePermit {
  readonly access: "read" | "write";
  readonly path: string;
  /** The content that was shown when it was decided; another needs a verdict of its own. */
  readonly content?: string | undefined;
  /** The tool call it was given to, as it was decided. */
  readonly call: ActionPayload;
  readonly entry: string | undefined;
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

  /** Uses a verdict that lets exactly this be done; once for a write. */
  take(access: FilePermit["access"], path: string, content?: string): FilePermit | undefined {
    const wanted = resolve(path);
    const index = this.#permits.findIndex(
      (permit) =>
        permit.access === access &&
        permit.path === wanted &&
        (permit.content === undefined || permit.content === content),
    );
    if (index < 0) return undefined;
    const permit = this.#permits[index];
    if (access === "write") this.#permits.splice(index, 1);
    return permit;
  }
}
