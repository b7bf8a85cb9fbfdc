import { lstat } from "node:fs/promises";
import { isAbsolute, relative, resolve, sep } from "node:path";
import { fileURLToPath } from "node:url";
import { type AcpToolCall, type JsonObject, toolCallIn } from "@reins/acp";
import type { Workspace } from "@reins/supervisor";
import type { ActionPayload } from "../control/control-point.ts";
import { factsOf } from "../control/enforce.ts";
import type { GovernedSession } from "./governed-session.ts";

/** Something that an agent says a call did: to a file, or by running a command in a terminal. */
export type Claim =
  | { readonly kind: "read" | "write"; readonly path: string }
  | { readonly kind: "exec"; readonly terminal: string };

/** What an action does to a file. */
export interface FileEffect {
  readonly kind: "read" | "write";
  readonly path: string;
  readonly place: string;
  readonly deep?: true;
}

/** What was found out about an action, as far as claims are held to it. */
interface Seen {
  readonly files: readonly FileEffect[];
  readonly runs: boolean;
  readonly opaque: boolean;
}

/** So many claims of one call are remembered; what says more is not believed to have done no more. */
export const MOST_CLAIMS = 200;
/** Kinds of calls whose locations are what they change. */
const CHANGING: ReadonlySet<string> = new Set(["edit", "delete", "move"]);
/** Where an action that may do more than can be seen is expected to do it. */
const OWN_PLACES: ReadonlySet<string> = new Set(["workspace", "temporary"]);

/** What an update says that its call did: by diffs, locations, files that are handed on, and terminals. */
export function claimsIn(update: JsonObject): readonly Claim[] {
  const { content, locations, kind = "" } = toolCallIn(update);
  const located = CHANGING.has(kind) ? "write" : "read";
  return [...content.flatMap(claimsOfPart), ...locations.flatMap(({ path }) => claimOf(located, path))];
}

function claimsOfPart({
  type,
  path,
  terminalId,
  content: { uri, resource },
}: AcpToolCall["content"][number]): readonly Claim[] {
  if (type === "diff") return claimOf("write", path);
  if (type === "terminal") return [{ kind: "exec", terminal: String(terminalId) }];
  return [uri, resource.uri].flatMap((one) => claimOf("read", fileIn(one)));
}

function claimOf(kind: "read" | "write", path: string | undefined): readonly Claim[] {
  return path ? [{ kind, path }] : [];
}

function fileIn(uri: string | undefined): string | undefined {
  if (uri === undefined || !/^\s*file:/iu.test(uri)) return undefined;
  try {
    return fileURLToPath(new URL(`file://${new URL(uri).pathname}`));
  } catch {
    return uri.trim().replace(/^file:\/*/iu, "/");
  }
}

/**
 * The claims that what was decided does not cover. An action that may do more than can be seen covers what lies in the
 * workspace; a terminal is covered where a command was decided, or where it was created by a verdict.
 */
export async function claimsBeyond(
  session: GovernedSession,
  claims: readonly Claim[],
  decided: ActionPayload | undefined,
): Promise<readonly Claim[]> {
  if (claims.length === 0) return [];
  const covering = decided && (await seenOf(session, decided, "agent"));
  const beyond: Claim[] = [];
  for (const claim of claims) if (!(await isCovered(session, claim, covering))) beyond.push(claim);
  return beyond;
}

async function isCovered(
  session: GovernedSession,
  claim: Claim,
  decided: Seen | undefined,
): Promise<boolean> {
  if (claim.kind === "exec") return decided?.runs === true || session.terminals.has(claim.terminal);
  // OpenCode gives the folder in which a command runs as its location.
  if (claim.kind === "read" && decided?.runs && (await isFolderIn(session.workspace, claim.path)))
    return true;
  const wanted = (await seenOf(session, payloadOfClaim(claim), "acp")).files;
  if (wanted.length === 0) return false;
  return wanted.every(
    (one) =>
      decided?.files.some((other) => covers(other, one)) ||
      (decided?.opaque === true && OWN_PLACES.has(one.place)),
  );
}

/** Whether a path is a folder of a workspace, and not a link to one. */
async function isFolderIn({ cwd, roots }: Workspace, path: string): Promise<boolean> {
  const absolute = resolve(cwd, path);
  if (!roots.some((root) => isWithin(root, absolute))) return false;
  const found = await lstat(absolute).catch(() => undefined);
  return found?.isDirectory() === true;
}

/** A claim as the call that it would have been. */
export function payloadOfClaim(claim: Claim): ActionPayload {
  if (claim.kind === "exec") return { tool_name: "terminal/create", arguments: { terminal: claim.terminal } };
  const tool_name = claim.kind === "write" ? "fs/write_text_file" : "fs/read_text_file";
  return { tool_name, arguments: { path: claim.path } };
}

/** What an action does, as things are now: a link may lead elsewhere than when it was decided. */
export async function seenOf(
  session: GovernedSession,
  payload: ActionPayload,
  tools: "agent" | "acp",
): Promise<Seen> {
  const { effects = [], opaque = false } = (await factsOf(session, payload, tools)) ?? {};
  return {
    files: effects.filter((one) => one.kind === "read" || one.kind === "write"),
    runs: effects.some(({ kind }) => kind === "exec"),
    opaque,
  };
}

/** A verdict to change a file covers reading it. */
export function covers(decided: FileEffect, wanted: FileEffect): boolean {
  if (decided.kind !== "write" && wanted.kind === "write") return false;
  if (decided.path === wanted.path) return true;
  return decided.deep === true && isWithin(decided.path, wanted.path);
}

function isWithin(folder: string, path: string): boolean {
  const way = relative(folder, path);
  return way !== ".." && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}
