import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { isObject, type JsonObject, membersOf } from "@reins/acp";
import { fill, fillDeep, type TemplateValues } from "@reins/kit";
import type { AgentEntry, HomeFile } from "./agent-entry.ts";
import { AgentError } from "./agent-error.ts";

/** The folders of an agent. */
interface AgentFolders {
  /** Its private home. */
  readonly home: string;
  /** Its own folder for temporary files; not within the home, nor the home within it. */
  readonly temporary: string;
}

/** Where a model is found. */
export interface ModelEndpoint {
  /** The address before any path of an API, without a slash at its end. */
  readonly url: string;
  readonly key: string;
  /** The name to ask for; the agent's usual one when there is none. */
  readonly model?: string;
}

/** What a launch depends on besides the entry. */
export interface LaunchOptions {
  readonly folders: AgentFolders;
  /** The folder of the install; absent for a program that was not installed by Reins. */
  readonly install?: string;
  /** The model to use instead of the agent's own. */
  readonly model?: ModelEndpoint;
  /** The skills for its own folder, where it has one. */
  readonly skills?: readonly { readonly name: string; readonly text: string }[];
  /** Whether the operating system confines it. */
  readonly confined?: boolean;
  /** Variables of the environment that the operator wants passed on, such as those of a proxy. */
  readonly pass?: readonly string[];
  /** The environment to take PATH, language and credentials from. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** The Node to run scripts with. */
  readonly node: string;
  /** As `process.platform`-`process.arch`. */
  readonly platform: string;
}

/** What it takes to start an agent and to open sessions with it. Data only. */
export interface AgentLaunch {
  readonly agent: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Files of the private home, by their path in it. */
  readonly files: Readonly<Record<string, string>>;
  /** Paths to remove from the private home before the files are written. */
  readonly clears: readonly string[];
  /** Credential files, from the user's home to the private one. */
  readonly credentials: readonly { readonly from: string; readonly to: string }[];
  readonly mode: string | undefined;
  readonly configOptions: Readonly<Record<string, string | boolean>>;
  /** Merged over `_meta` of every session call. */
  readonly meta: Readonly<Record<string, unknown>>;
  /** Keys to remove from `_meta` that a client sends. */
  readonly strip: readonly string[];
}

/** Files of a home that shells, git and npm read: removed, so that one session cannot influence the next. */
const READ_BY_TOOLS = [
  ".bash_login",
  ".bash_profile",
  ".bashrc",
  ".profile",
  ".zprofile",
  ".zshenv",
  ".zshrc",
  ".config/fish",
  ".gitconfig",
  ".config/git",
  ".npmrc",
];

/** The folder of files that the catalogue refers to. */
export const CATALOGUE_FILES = fileURLToPath(new URL("../catalogue/files", import.meta.url));
const PASSED_ON = ["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "TZ"];

/** Variables that configure how an agent reaches its model. */
const MODEL_ACCESS =
  /^(?:(?:https?|all|no)_proxy|node_extra_ca_certs|ssl_cert_(?:file|dir)|requests_ca_bundle|curl_ca_bundle|[a-z0-9_]+_(?:base_url|api_base)|claude_code_use_(?:bedrock|vertex)|aws_(?:region|profile)|google_cloud_(?:project|location)|anthropic_vertex_project_id|cloud_ml_region)$/i;

/** Variables that make a program load code or read files without a decision. They are never passed on. */
const LOADS_CODE =
  /^(?:node_options|node_path|ld_.*|dyld_.*|bash_env|env|zdotdir|prompt_command|pythonstartup|pythonpath|perl5(?:lib|opt)|rubyopt|rubylib|java_tool_options|git_.*|home|path|tmpdir|shell)$/i;

/** Whether a variable may be passed on to agents at all. */
export function isPassable(name: string): boolean {
  return !LOADS_CODE.test(name);
}

/** Variables that programs take logins, certificates, modules or packages from. */
const STEERS = /(?:key|token|secret|password|credentials?)$|^(?:npm|node|uv|pip|python|xdg|bun|deno)_?/i;

/** Whether a registry may set a variable for an agent: one that changes neither what code runs nor which model is asked. */
export function isSettable(name: string): boolean {
  const isKept = PASSED_ON.includes(name) || MODEL_ACCESS.test(name) || STEERS.test(name);
  return isPassable(name) && !isKept;
}

/** Returns the variables that an agent may need to reach its model and does not get. */
export function droppedVariables(
  entry: AgentEntry,
  { environment, pass = [] }: Pick<LaunchOptions, "environment" | "pass">,
): readonly string[] {
  const given = new Set([
    ...PASSED_ON,
    ...entry.credentials.variables,
    ...pass,
    ...Object.keys(entry.profile.env),
  ]);
  return Object.keys(environment).filter(
    (name) => environment[name] !== undefined && MODEL_ACCESS.test(name) && !given.has(name),
  );
}

/** Computes the launch of an agent from its entry. */
export function launchOf(entry: AgentEntry, options: LaunchOptions): AgentLaunch {
  const { folders, model } = options;
  const profile = profileOf(entry, options);
  const endpoint = model ? endpointOf(entry) : undefined;
  const values: TemplateValues = {
    ...folders,
    install: options.install,
    catalogue: CATALOGUE_FILES,
    ...(model && { url: model.url, key: model.key, model: model.model ?? endpoint?.model }),
  };
  const { command, args } = launchCommand(entry, options);
  const skills = entry.skills ? (options.skills ?? []) : [];
  const own = skills.length > 0 ? entry.skills : undefined;
  const known = Object.entries(endpoint?.env ?? {}).filter(
    ([, value]) => values.model || !/\$\{model/.test(value),
  );
  const given = { ...profile.env, ...Object.fromEntries(known) };
  return {
    agent: entry.id,
    command,
    args: [...args, ...[...profile.args, ...(endpoint?.args ?? [])].map((arg) => fill(arg, values))],
    env: {
      ...passedOn(options, endpoint ? [] : entry.credentials.variables),
      HOME: folders.home,
      TMPDIR: folders.temporary,
      ...Object.fromEntries(Object.entries(given).map(([name, value]) => [name, fill(value, values)])),
    },
    files: {
      ...filesOf([...profile.files, ...(endpoint?.files ?? []), ...(own?.files ?? [])], values),
      ...Object.fromEntries(skills.map(({ name, text }) => [`${own?.folder}/skills/${name}/SKILL.md`, text])),
    },
    clears: [...READ_BY_TOOLS, ...profile.clears, ...(entry.skills ? [entry.skills.folder] : [])],
    credentials: endpoint ? [] : entry.credentials.files,
    mode: profile.mode,
    configOptions: profile.configOptions,
    meta: own ? mergeOver(profile.meta, membersOf(fillDeep(own.meta, values))) : profile.meta,
    strip: entry.strip,
  };
}

/** Returns the profile for a confined or an unconfined agent. */
function profileOf(
  { profile }: AgentEntry,
  { confined = false }: LaunchOptions,
): Omit<AgentEntry["profile"], "confined"> {
  const { confined: inside, ...outside } = profile;
  if (!confined || !inside) return outside;
  const replaced = new Set(inside.files.map(({ path }) => path));
  return {
    ...outside,
    env: { ...outside.env, ...inside.env },
    files: [...outside.files.filter(({ path }) => !replaced.has(path)), ...inside.files],
    mode: inside.mode ?? outside.mode,
  };
}

/** The program and the arguments that come before those of the profile. */
export function launchCommand(
  entry: AgentEntry,
  { install, node, platform }: Pick<LaunchOptions, "install" | "node" | "platform">,
): { readonly command: string; readonly args: readonly string[] } {
  const { start } = entry;
  if (!start)
    throw new AgentError("unsupported_agent", `${entry.name} cannot be run. ${entry.support.reason}`);
  const named = typeof start.file === "string" ? start.file : start.file[platform];
  if (named === undefined)
    throw new AgentError("unsupported_agent", `${entry.name} is not made for ${platform}.`);
  if (!isAbsolute(named) && install === undefined) {
    throw new AgentError(
      "agent_not_installed",
      `${entry.name} is not installed: run \`reins agents install ${entry.id}\`.`,
    );
  }
  const file = isAbsolute(named) ? named : join(install ?? "", named);
  if (start.with === "file") return { command: file, args: start.args };
  const imports = start.imports.map((module) => fill(module, { install, catalogue: CATALOGUE_FILES }));
  const flags = imports.flatMap((module) => ["--import", pathToFileURL(module).href]);
  return { command: node, args: [...flags, file, ...start.args] };
}

function endpointOf({ name, endpoint }: AgentEntry): NonNullable<AgentEntry["endpoint"]> {
  if (endpoint) return endpoint;
  throw new AgentError("unsupported_agent", `${name} cannot be pointed at a model of one's own.`);
}

function passedOn(
  { environment, pass = [] }: LaunchOptions,
  credentials: readonly string[],
): Record<string, string> {
  const passed: Record<string, string> = {};
  for (const name of [...PASSED_ON, ...credentials, ...pass]) {
    const value = environment[name];
    if (value !== undefined) passed[name] = value;
  }
  return passed;
}

function filesOf(files: readonly HomeFile[], values: TemplateValues): Record<string, string> {
  const texts: Record<string, string> = {};
  const documents: Record<string, JsonObject> = {};
  for (const { path, text, json, source } of files) {
    if (json !== undefined)
      documents[path] = mergeOver(documents[path] ?? {}, membersOf(fillDeep(json, values)));
    else if (source !== undefined) texts[path] = readFileSync(join(CATALOGUE_FILES, source), "utf8");
    else texts[path] = (texts[path] ?? "") + fill(text ?? "", values);
  }
  for (const [path, document] of Object.entries(documents)) {
    texts[path] = `${JSON.stringify(document, undefined, 2)}\n`;
  }
  return texts;
}

/** Lays one object over another: objects within them are merged, everything else is replaced. */
function mergeOver(under: Readonly<JsonObject>, over: Readonly<JsonObject>): JsonObject {
  const entries = Object.entries(over).map(([key, value]): [string, unknown] => {
    const below = Object.hasOwn(under, key) ? under[key] : undefined;
    return [key, isObject(below) && isObject(value) ? mergeOver(below, value) : value];
  });
  return { ...under, ...Object.fromEntries(entries) };
}

type Meta = Readonly<JsonObject>;

/** The `_meta` of a session call to an agent, and what was removed from the client's. */
export interface SessionMeta {
  readonly meta: Meta;
  /** The removed keys; dots lead into objects. */
  readonly stripped: readonly string[];
}

/**
 * Filters what a client sent with `session/new`, `load`, `resume` or `fork`: removes keys that would weaken the agent's
 * gate, then merges the agent's profile over it.
 */
export function sessionMeta(
  { meta, strip }: Pick<AgentLaunch, "meta" | "strip">,
  sent: Meta = {},
): SessionMeta {
  const stripped = strip.filter((key) => holds(sent, key.split(".")));
  const kept = stripped.reduce<Meta>((rest, key) => without(rest, key.split(".")), sent);
  return { meta: mergeOver(kept, meta), stripped };
}

/** The choice of a setting as the protocol wants it: a yes or no says that it is one. */
export function typedOption(choice: JsonObject): JsonObject {
  return typeof choice.value === "boolean" ? { ...choice, type: "boolean" } : choice;
}

function holds(value: unknown, [key, ...rest]: readonly string[]): boolean {
  if (key === undefined) return true;
  return isObject(value) && Object.hasOwn(value, key) && holds(value[key], rest);
}

function without(value: Meta, [key, ...rest]: readonly string[]): Meta {
  if (key === undefined) return value;
  const { [key]: inner, ...others } = value;
  return rest.length > 0 && isObject(inner) ? { ...others, [key]: without(inner, rest) } : others;
}

/**
 * The SHA-256 of all that an entry makes of an agent: how it is started, which files it finds, which settings
 * its sessions get. It is the same on every machine and changes whenever the agent would run under other settings.
 */
export function settingsHash(entry: AgentEntry): string {
  const { start, profile, strip, modes, endpoint, skills } = entry;
  const imports = (start?.imports ?? []).map((module) =>
    readFileSync(fill(module, { catalogue: CATALOGUE_FILES }), "utf8"),
  );
  const files = start
    ? launchOf(entry, {
        folders: { home: "/home", temporary: "/tmp" },
        install: "/install",
        environment: {},
        node: "node",
        platform: Object.keys(typeof start.file === "string" ? {} : start.file)[0] ?? "any",
      }).files
    : {};
  return createHash("sha256")
    .update(JSON.stringify(sorted({ start, profile, strip, modes, endpoint, skills, files, imports })))
    .digest("hex");
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  const entries = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1));
  return Object.fromEntries(entries.map(([key, inner]) => [key, sorted(inner)]));
}
