import { createHash } from "node:crypto";
import { lstat, readFile, realpath, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  errorMessage,
  ifExists,
  isRecord,
  type JsonObject,
  parseJson,
  replaceFile,
  replaceFileIf,
} from "@reins/kit";
import { z } from "zod";
import { AgentError } from "../agent-error.ts";
import { CATALOGUE_FILES } from "../agent-launch.ts";
import { InstallLock } from "../install/install-lock.ts";
import { isOff, jsonIn } from "./effective-hooks.ts";
import { type HookAgent, settingsPath } from "./hook-agents.ts";

/** The name of the hook program, by which its entries in settings are known. */
const PROGRAM = "reins-hook.mjs";
const MARK = `hooks/${PROGRAM}`;
/** How the plugin of Reins begins, for any home. */
const PLUGIN_START = Buffer.from('const reins = {"agent":');
/** How much sooner than the agent the hook gives up: an agent whose hook takes too long goes on without an answer. */
const MARGIN_S = 15;

/** Where hooks are installed, and how they behave. */
export interface HookInstall {
  readonly agent: HookAgent;
  /** The home of Reins. */
  readonly home: string;
  readonly userHome: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The Node that runs the hook. */
  readonly node: string;
  /** How long a call waits for a person, in seconds. */
  readonly wait: number;
  /** What becomes of tools that only read while Reins is not running: the agent's own gate decides, or they are blocked. */
  readonly reads: "allow" | "block";
}

/** Whose hooks, and for which Reins. */
export type HookPlace = Pick<HookInstall, "agent" | "home" | "userHome" | "environment">;

/** What was in the settings before, so that removing the hooks brings back every byte. */
const HookRecord = z.object({
  path: z.string(),
  /** The file before, in base64; null where there was none. */
  before: z.string().nullable(),
  mode: z.number(),
  /**
   * SHA-256 of the file with the hooks: as it is written next, and as it was before, because a kill may come in between.
   */
  after: z.array(z.string()),
});
type HookRecord = z.infer<typeof HookRecord>;

/** The state of hooks in an agent's settings. */
export interface HookState {
  readonly path: string;
  /** `partial` if some of the entries are not the ones that were installed. */
  readonly installed: "yes" | "no" | "partial";
}

/** Writes the hooks into an agent's settings, over those of an earlier install; returns whether anything changed. */
export async function installHooks(install: HookInstall): Promise<HookState & { readonly changed: boolean }> {
  await replaceFile(programIn(install.home), await readFile(join(CATALOGUE_FILES, PROGRAM)));
  return exclusively(install, async () => {
    const settings = await readSettings(install);
    const { path, bytes, mode, document } = settings;
    if (isOff(document, install.agent))
      throw invalid(
        path,
        `switches all hooks off by ${install.agent.switches?.member.join(".")}; remove that first`,
      );
    const text = install.agent.plugin
      ? await pluginText(install, install.agent.plugin)
      : serialized(withHooks(withoutHooks(document), install), bytes);
    const after = Buffer.from(text);
    if (bytes?.equals(after)) return { path, installed: "yes", changed: false };
    const record = await readRecord(install, path);
    const own = record && isOf(record, bytes) ? record : undefined;
    const earlier = own ?? (await recordOfOthers(install, settings));
    const next: HookRecord = {
      ...{ path, mode, before: earlier ? earlier.before : beforeOf(settings) },
      after: [digest(after), ...(own ? [digest(bytes)] : [])],
    };
    await replaceFile(recordIn(install, path), JSON.stringify(next));
    await replaceSettings(settings, after, mode);
    return { path, installed: "yes", changed: true };
  });
}

/**
 * Takes the hooks of a home out of an agent's settings. A file that was not changed since gets the bytes that it had before,
 * or goes if there was none; from one that was, only the entries of the hooks go. Those of another home stay.
 */
export async function uninstallHooks(
  place: HookPlace,
): Promise<HookState & { readonly changed: boolean; readonly others: readonly string[] }> {
  return exclusively(place, async () => {
    const settings = await readSettings(place);
    const { path, bytes, mode } = settings;
    const record = await readRecord(place, path);
    const isOurs = record !== undefined && isOf(record, bytes);
    const others = isOurs ? [] : otherHomes(place, settings);
    // A plugin of Reins stands for the whole file, also where a person has changed it since.
    const isPlugin = record && others.length === 0 && isPluginOfReins(bytes);
    const before = isOurs || isPlugin ? record.before : beforeOf(settings, others);
    const changed =
      (before === null) !== (bytes === undefined) || before !== (bytes?.toString("base64") ?? null);
    if (changed && before === null) await rm(path, { force: true });
    else if (changed)
      await replaceSettings(settings, Buffer.from(before ?? "", "base64"), isOurs ? record.mode : mode);
    await rm(recordIn(place, path), { force: true });
    return { path, installed: "no", changed, others };
  });
}

/** Runs an operation on an agent's settings while no other of this home does. */
async function exclusively<Result>(
  { home, agent }: HookPlace,
  operation: () => Promise<Result>,
): Promise<Result> {
  const folder = join(home, "hooks");
  // Without the folder nothing is installed from this home.
  if ((await ifExists(stat(folder))) === undefined) return operation();
  await using _lock = await InstallLock.acquire(join(folder, `${agent.id}.lock`));
  return await operation();
}

/** Replaces settings, unless they were changed since they were read. */
async function replaceSettings({ path, bytes }: Settings, content: Uint8Array, mode: number): Promise<void> {
  const isSame = async () => {
    const now = await ifExists(readFile(path));
    return now === undefined || bytes === undefined ? now === bytes : now.equals(bytes);
  };
  if (!(await replaceFileIf(path, content, isSame, mode)))
    throw invalid(path, "was changed at the same moment, so it stays as it is; try again");
}

/** Whether the settings hold the hooks now. */
export async function hookState(place: HookPlace): Promise<HookState> {
  const { path, bytes } = await findSettings(place);
  // Settings that are not JSON to us may be the agent's own business.
  if (!bytes?.includes(PROGRAM)) return { path, installed: "no" };
  const { document } = await readSettings(place);
  const { decides, reports, plugin } = place.agent;
  if (plugin !== undefined) {
    const isOurs = bytes.includes(JSON.stringify(programIn(place.home)));
    const isThere = (await ifExists(stat(programIn(place.home)))) !== undefined;
    return { path, installed: !isOurs ? "no" : isThere ? "yes" : "partial" };
  }
  const held = [...decides, ...reports].filter((event) =>
    groupsOf(document, event).some((group) => isOurGroup(group, place)),
  );
  if (held.length === 0) return { path, installed: "no" };
  const isWhole =
    held.length === decides.length + reports.length &&
    !isOff(document, place.agent) &&
    (await ifExists(stat(programIn(place.home)))) !== undefined;
  return { path, installed: isWhole ? "yes" : "partial" };
}

/** The plugin of an agent, which knows where the hook is and how it is called. */
async function pluginText({ agent, home, node, reads, wait }: HookInstall, plugin: string): Promise<string> {
  const flags = ["--home", home, "--wait", String(waitOf({ agent, wait }))];
  const reins = {
    ...{ agent: agent.id, node, program: programIn(home) },
    flags: [...flags, ...(reads === "allow" ? ["--reads", "allow"] : [])],
  };
  const code = await readFile(join(CATALOGUE_FILES, plugin), "utf8");
  return `const reins = ${JSON.stringify(reins)};\n${code}`;
}

/** The hook program of a home. */
export function programIn(home: string): string {
  return join(home, MARK);
}

/** The command of a hook. Where the hook itself cannot run, what was to be decided is blocked. */
export function hookCommand(install: HookInstall, isDecided: boolean, event?: string): string {
  const { agent, home, node, reads } = install;
  const wait = waitOf(install);
  const given = ["PATH", ...agent.variables].map((name) => `${name}="$${name}"`).join(" ");
  const flags = [`--home ${quoted(home)}`, `--wait ${wait}`, ...(reads === "allow" ? ["--reads allow"] : [])];
  // By its path: a repository may name the folders in which programs are looked for.
  const run = `/usr/bin/env -i ${given} ${quoted(node)} ${quoted(programIn(home))} ${agent.id} ${flags.join(" ")}${event === undefined ? "" : ` --event ${event}`}`;
  if (!isDecided) return `${run} || exit 0`;
  const decide = `${run} --decide`;
  const why = `Blocked: the hook of Reins cannot run. See reins hooks status ${agent.id}`;
  // Copilot goes on with a prompt after any exit code.
  if (agent.isFlat) return `${decide} || echo '${JSON.stringify(closedAnswer(why))}'`;
  return `${decide} || { echo '${why}' >&2; exit 2; }`;
}

/** Says no to a call and to a prompt. */
function closedAnswer(reason: string) {
  return { permissionDecision: "deny", permissionDecisionReason: reason, decision: "block", reason };
}

/** How long a call waits for a person: at most as long as the agent waits for its hook. */
export function waitOf({ agent, wait }: Pick<HookInstall, "agent" | "wait">): number {
  return Math.min(wait, agent.longestWait ?? wait);
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}

interface Settings {
  readonly path: string;
  readonly bytes: Buffer | undefined;
  readonly mode: number;
  readonly document: JsonObject;
}

/** Finds the settings; a file that is a link is used where it leads. */
async function findSettings(place: HookPlace): Promise<Pick<Settings, "path" | "bytes">> {
  const named = settingsPath(place.agent, place.userHome, place.environment);
  const path = (await ifExists(realpath(named))) ?? named;
  const bytes = await ifExists(readFile(path));
  if (bytes === undefined && (await ifExists(lstat(path)))?.isSymbolicLink())
    throw invalid(path, "is a link that leads nowhere, so it stays as it is; mend it first");
  return { path, bytes };
}

/** Reads the settings, exact to the last digit. */
async function readSettings(place: HookPlace): Promise<Settings> {
  const { path, bytes } = await findSettings(place);
  if (bytes === undefined) return { path, bytes, mode: 0o600, document: {} };
  const { mode } = await stat(path);
  const document = place.agent.plugin === undefined ? parsed(path, bytes) : {};
  return { path, bytes, mode: mode & 0o777, document };
}

function parsed(path: string, bytes: Buffer): JsonObject {
  const text = bytes.toString("utf8");
  if (text.trim() === "") return {};
  try {
    if (!Buffer.from(text).equals(bytes)) throw new Error("it is not UTF-8");
    const { value: document, duplicateKeys } = parseJson(text);
    if (duplicateKeys) throw new Error("an object names a key twice");
    if (!isRecord(document)) throw new Error("it holds no object");
    const { hooks = {} } = document;
    if (!isRecord(hooks) || !Object.values(hooks).every((groups) => Array.isArray(groups)))
      throw new Error("hooks is not an object of lists");
    return document;
  } catch (error) {
    throw invalid(path, `cannot be read (${errorMessage(error)}), so it stays as it is; mend it first`);
  }
}

function invalid(path: string, why: string): AgentError {
  return new AgentError("invalid_settings", `${path} ${why}.`);
}

/** The file without the hooks, but those of some homes, in base64: as it is where it holds none. */
function beforeOf({ bytes, document }: Settings, kept: readonly string[] = []): string | null {
  if (bytes === undefined) return null;
  // A plugin of Reins is a file of its own.
  if (isPluginOfReins(bytes)) return kept.length > 0 ? bytes.toString("base64") : null;
  const rest = withoutHooks(document, kept);
  return (rest === document ? bytes : Buffer.from(serialized(rest, bytes))).toString("base64");
}

function isPluginOfReins(bytes: Buffer | undefined): bytes is Buffer {
  return bytes?.subarray(0, PLUGIN_START.length).equals(PLUGIN_START) ?? false;
}

/** The other homes whose hooks settings hold. */
function otherHomes({ agent, home }: HookPlace, { bytes, document }: Settings): readonly string[] {
  const events = [...agent.decides, ...agent.reports];
  const commands = events.flatMap((event) => groupsOf(document, event).flatMap(commandsOf));
  const programs = isPluginOfReins(bytes) ? [pluginProgram(bytes)] : commands.map(programOf);
  const others = programs.filter((program) => program?.endsWith(MARK) && program !== programIn(home));
  return [...new Set(others.map((program = "") => dirname(dirname(program))))];
}

const QUOTED_PROGRAM = new RegExp(`'((?:[^']|'\\\\'')*/${PROGRAM})'`, "u");

/** The hook program in the command of a hook. */
function programOf(command: string): string | undefined {
  return QUOTED_PROGRAM.exec(command)?.[1]?.replaceAll("'\\''", "'");
}

function pluginProgram(bytes: Buffer): string | undefined {
  const program = jsonIn(/"program":("(?:[^"\\]|\\.)*")/u.exec(bytes.toString("utf8"))?.[1] ?? "");
  return typeof program === "string" ? program : undefined;
}

/** What another home recorded of the hooks that settings hold, if that can be read: what was there before them. */
async function recordOfOthers(place: HookPlace, settings: Settings): Promise<HookRecord | undefined> {
  for (const home of otherHomes(place, settings)) {
    const record = await readRecord({ ...place, home }, settings.path).catch(() => undefined);
    if (record && isOf(record, settings.bytes)) return record;
  }
  return undefined;
}

function groupsOf({ hooks }: JsonObject, event: string): readonly unknown[] {
  const groups = isRecord(hooks) ? hooks[event] : undefined;
  return Array.isArray(groups) ? groups : [];
}

function commandsOf(group: unknown): readonly string[] {
  if (isRecord(group) && typeof group.bash === "string") return [group.bash];
  const list = isRecord(group) && Array.isArray(group.hooks) ? group.hooks : [];
  return list.map((hook) => (isRecord(hook) && typeof hook.command === "string" ? hook.command : ""));
}

/** Whether a group of hooks is one that Reins wrote, for any home but some. */
function isHookOfReins(group: unknown, but: readonly string[] = []): boolean {
  const commands = commandsOf(group);
  const isOf = (home: string) => commands.some((command) => command.includes(quoted(programIn(home))));
  return commands.length > 0 && commands.every((command) => command.includes(MARK)) && !but.some(isOf);
}

function isOurGroup(group: unknown, { home, agent }: HookPlace): boolean {
  const ours = `${quoted(programIn(home))} ${agent.id} `;
  const matcher = isRecord(group) ? (group.matcher ?? agent.matcher) : undefined;
  return matcher === agent.matcher && commandsOf(group).some((command) => command.includes(ours));
}

/** The same document where it holds no hook of Reins, but those of some homes. */
function withoutHooks(document: JsonObject, but: readonly string[] = []): JsonObject {
  const { hooks, ...others } = document;
  if (!isRecord(hooks)) return document;
  const all = Object.entries(hooks);
  if (!all.some(([event]) => groupsOf(document, event).some((group) => isHookOfReins(group, but))))
    return document;
  const kept = all
    .map(
      ([event]) => [event, groupsOf(document, event).filter((group) => !isHookOfReins(group, but))] as const,
    )
    .filter(([, groups]) => groups.length > 0);
  return kept.length === 0 ? others : { ...document, hooks: Object.fromEntries(kept) };
}

function withHooks(document: JsonObject, install: HookInstall): JsonObject {
  const { agent } = install;
  const hooks = isRecord(document.hooks) ? { ...document.hooks } : {};
  const seconds = waitOf(install) + MARGIN_S;
  const isLong = agent.timeout === "milliseconds" || (agent.timeout === "mixed" && seconds >= 1_000);
  const timeout = isLong ? seconds * 1_000 : seconds;
  for (const event of [...agent.decides, ...agent.reports]) {
    const isDecided = agent.decides.includes(event);
    const most = agent.limits?.[event] ?? timeout;
    if (agent.isFlat) {
      const hook = { type: "command", bash: hookCommand(install, isDecided, event), timeoutSec: timeout };
      hooks[event] = [...groupsOf(document, event), hook];
      continue;
    }
    const command = hookCommand(install, isDecided);
    const hook = { type: "command", command, timeout: Math.min(timeout, most) };
    const matcher = agent.matcher !== undefined && TOOL_EVENT.test(event) && { matcher: agent.matcher };
    hooks[event] = [...groupsOf(document, event), { ...matcher, hooks: [hook] }];
  }
  return { ...(agent.isFlat && { version: 1 }), ...document, hooks };
}

const TOOL_EVENT = /Tool/;

/** JSON in the indentation and with the line ends of the file before. */
function serialized(document: JsonObject, before: Buffer | undefined): string {
  const text = before?.toString("utf8") ?? "";
  const indent = /\n([ \t]+)\S/.exec(text)?.[1] ?? "  ";
  const end = before === undefined || text.endsWith("\n") ? "\n" : "";
  const json = JSON.stringify(document, undefined, indent) + end;
  return text.includes("\r\n") ? json.replaceAll("\n", "\r\n") : json;
}

/** The record of one file of settings: variables may put an agent's settings elsewhere. */
function recordIn({ home, agent }: HookPlace, path: string): string {
  return join(home, "hooks", `${agent.id}-${digest(path).slice(0, 16)}.json`);
}

async function readRecord(place: HookPlace, path: string): Promise<HookRecord | undefined> {
  const file = recordIn(place, path);
  const text = await ifExists(readFile(file, "utf8"));
  if (text === undefined) return undefined;
  try {
    return HookRecord.parse(JSON.parse(text));
  } catch (error) {
    throw invalid(file, `is damaged (${errorMessage(error)}); remove it and the hooks by hand`);
  }
}

/** Whether a file is the one with the hooks that a record is about. */
function isOf({ after }: HookRecord, bytes: Buffer | undefined): boolean {
  return after.includes(digest(bytes));
}

function digest(bytes: Buffer | string | undefined): string {
  return createHash("sha256")
    .update(bytes ?? "")
    .digest("hex");
}
