import type { Findings } from "../findings.ts";
import type { FactsContext } from "../gather.ts";
import { hostOfUrl, isDevelopmentUrl } from "../host.ts";
import { Interpreter } from "../shell/interpreter.ts";
import type { ParseText } from "../shell/reader/reader.ts";
import { knownValue, Scope } from "../shell/value.ts";
import { type ArgumentRole, isRecord, patchFindings, type Tool, textsIn } from "./tool-call.ts";

/** Where the findings of a tool call go, and where its paths start. */
export interface ToolSetting {
  readonly findings: Findings;
  readonly shell: ShellRunner;
  readonly folders: readonly string[];
}

/** Puts down what a call of a known tool does. */
export function findByTable(name: string, tool: Tool, given: unknown, setting: ToolSetting): void {
  const { findings } = setting;
  if (tool.opaque !== undefined) findings.hide(`${name} ${tool.opaque}`);
  if (tool.net) findings.add({ kind: "net", host: "*" });
  const values = argumentsFor(tool, given);
  if (!values) {
    findings.hide(`the arguments of ${name} are not what it takes`);
    readUnknownArguments(given, setting);
    return;
  }
  const missing = (tool.required ?? []).find(
    (argument) => values[argument] === undefined || values[argument] === null,
  );
  const isEmpty = given === undefined || Object.keys(values).length === 0;
  if (missing !== undefined || (isEmpty && tool.without === undefined)) findUnsaid(tool, findings);
  if (missing !== undefined) findings.hide(`${name} is called without ${missing}`);
  const folders = foldersOf(tool, values, setting);
  const inside = { ...setting, folders };
  const searched = searchedFolders(tool, values, folders);
  let touches = 0;
  for (const [argument, value] of Object.entries(values)) {
    const role = Object.hasOwn(tool.arguments, argument) ? tool.arguments[argument] : undefined;
    if (value === undefined || value === null) continue;
    if (role === undefined) readUnlistedArgument(name, argument, value, inside);
    else if (role === "only") findOnly(`${argument} of ${name}`, value, searched, findings);
    else if (role === "worktree") findWorktree(value, searched, findings);
    else if (role !== "folder") touches += applyArgument(`${argument} of ${name}`, role, value, tool, inside);
  }
  if (touches > 0) return;
  if (tool.without) applyArgument(name, tool.without, ".", tool, inside);
  else if (
    tool.required === undefined &&
    Object.values(tool.arguments).some((role) => role !== "text" && role !== "opaque" && role !== "folder")
  ) {
    findings.hide(`${name} does not say what it works on`);
  }
}

const READING: ReadonlySet<ArgumentRole> = new Set(["read", "tree", "glob"]);
const WRITING: ReadonlySet<ArgumentRole> = new Set(["change", "overwrite", "delete", "patch"]);
const ADDRESSES: ReadonlySet<ArgumentRole> = new Set(["url", "urls"]);

/** What a call does not say it may do to anything: a path that follows later is not one that is not touched. */
function findUnsaid(tool: Tool, findings: Findings): void {
  const roles = [...Object.values(tool.arguments), ...Object.values(tool.edits ?? {})];
  const target = { text: null, base: undefined };
  if (roles.some((role) => READING.has(role))) findings.add({ kind: "read", target, deep: true });
  if (roles.some((role) => WRITING.has(role)))
    findings.add({ kind: "write", target, deep: true, destroys: "existing" });
  if (roles.some((role) => ADDRESSES.has(role))) findings.add({ kind: "net", host: "*" });
}

/** Some tools get their one text without a name around it. */
function argumentsFor(tool: Tool, given: unknown): Readonly<Record<string, unknown>> | undefined {
  if (given === undefined) return {};
  if (isRecord(given)) return given;
  const only = Object.entries(tool.arguments).find(([, role]) => role === "patch");
  return typeof given === "string" && only ? { [only[0]]: given } : undefined;
}

function foldersOf(
  tool: Tool,
  values: Readonly<Record<string, unknown>>,
  setting: ToolSetting,
): readonly string[] {
  const names = Object.keys(tool.arguments).filter((argument) => tool.arguments[argument] === "folder");
  const given = names
    .map((argument) => values[argument])
    .filter((value) => value !== undefined && value !== null && value !== "");
  const folders = given.flatMap((value) => {
    if (typeof value !== "string") {
      setting.findings.hide("the working folder is no text");
      return [];
    }
    if (value.startsWith("/")) return [value];
    if (/^~|[\\$\0]/.test(value)) setting.findings.hide("a working folder that is not plain");
    return setting.folders.map((folder) => `${folder}/${value}`);
  });
  return folders.length > 0 ? folders : setting.folders;
}

/** @returns how many things the argument touches */
function applyArgument(
  label: string,
  role: ArgumentRole,
  value: unknown,
  tool: Tool,
  setting: ToolSetting,
): number {
  const { findings, shell, folders } = setting;
  if (role === "text") return 0;
  if (role === "opaque") {
    if (value !== false && value !== "") findings.hide(`${label} may make it do more`);
    return 0;
  }
  if (role === "words" && Array.isArray(value)) {
    if (value.every((word) => typeof word === "string")) shell.runWords(value, folders);
    else findings.hide(`${label} is not a list of texts`);
    return 1;
  }
  if (role === "edits" && Array.isArray(value)) {
    for (const edit of value) applyEdit(label, edit, tool, setting);
    return value.length;
  }
  if (Array.isArray(value)) {
    return value
      .map((one) => applyArgument(label, role, one, tool, setting))
      .reduce((sum, count) => sum + count, 0);
  }
  if (typeof value !== "string") {
    findings.hide(`${label} is no text`);
    return 1;
  }
  const target = { text: value, base: folders };
  switch (role) {
    case "read":
      findings.add({ kind: "read", target, deep: false });
      break;
    case "tree":
      findings.add({ kind: "read", target, deep: true });
      break;
    case "glob":
      findGlob(value, setting);
      break;
    case "change":
      findings.add({ kind: "write", target, deep: false, destroys: "never" });
      break;
    case "overwrite":
      findings.add({ kind: "write", target, deep: false, destroys: "existing", keeps: true });
      break;
    case "delete":
      findings.add({ kind: "write", target, deep: true, destroys: "always" });
      break;
    case "shell":
    case "words":
      shell.runText(value, folders);
      break;
    case "url":
      findUrl(value, setting);
      break;
    case "urls":
      findUrls(value, setting);
      break;
    case "patch": {
      const found = patchFindings(value, folders);
      if (found) for (const finding of found) findings.add(finding);
      else findings.hide(`${label} could not be read`);
      break;
    }
    default:
      findings.hide(`${label} is not of its kind`);
  }
  return 1;
}

function applyEdit(label: string, edit: unknown, tool: Tool, setting: ToolSetting): void {
  if (!isRecord(edit)) {
    setting.findings.hide(`${label} holds something that is no edit`);
    return;
  }
  for (const [argument, value] of Object.entries(edit)) {
    const role = Object.hasOwn(tool.edits ?? {}, argument) ? tool.edits?.[argument] : undefined;
    if (value === undefined || value === null) continue;
    if (role === undefined) readUnlistedArgument(label, argument, value, setting);
    else applyArgument(`${argument} in ${label}`, role, value, tool, setting);
  }
}

/** Where a search looks: in the folders that its arguments name, or where it starts. */
function searchedFolders(
  tool: Tool,
  values: Readonly<Record<string, unknown>>,
  folders: readonly string[],
): readonly string[] {
  const named = Object.entries(tool.arguments)
    .filter(([, role]) => role === "tree")
    .flatMap(([argument]) => values[argument])
    .filter((value) => typeof value === "string" && value !== "");
  const found = named.flatMap((path) =>
    String(path).startsWith("/") ? [String(path)] : folders.map((folder) => `${folder}/${path}`),
  );
  return found.length > 0 ? found : folders;
}

/** A search limited to named files reads those, also where it would skip them otherwise. */
function findOnly(label: string, value: unknown, searched: readonly string[], findings: Findings): void {
  const globs = Array.isArray(value) ? value : [value];
  for (const given of globs) {
    if (typeof given !== "string") findings.hide(`${label} is no text`);
    else {
      for (const glob of alternatives(given)) {
        if (!glob.startsWith("!"))
          findings.add({ kind: "only", target: { text: ".", base: searched }, glob });
      }
    }
  }
}

/** A new git worktree changes the repository in the folder: it is registered there, and has a branch. */
function findWorktree(value: unknown, searched: readonly string[], findings: Findings): void {
  if (value === false) return;
  const target = { text: ".", base: searched };
  findings.add({ kind: "write", target, deep: false, destroys: "never" });
}

/** `a,b` and `*.{a,b}` are several; what is more involved than that counts as everything. */
function alternatives(glob: string): readonly string[] {
  const [, before, inner, after] = /^([^{}]*)\{([^{}]*)\}([^{}]*)$/.exec(glob) ?? [];
  if (inner !== undefined) return inner.split(",").map((one) => `${before}${one}${after}`);
  if (/[{}]/.test(glob)) return ["*"];
  return glob.split(/[,\s]+/).filter((one) => one !== "");
}

/** What matches lies below the part before the first wildcard; the names after it may say more. */
function findGlob(pattern: string, { findings, folders }: ToolSetting): void {
  const wildcard = pattern.search(/[*?[{(!]/);
  const fixed = wildcard === -1 ? pattern : pattern.slice(0, pattern.lastIndexOf("/", wildcard) + 1);
  const rest = pattern.slice(fixed.length);
  if (/\.\.|[~\\]|^\/|[{,]\//.test(rest)) findings.hide("a pattern that may lead out of its folder");
  findings.add({ kind: "read", target: { text: fixed || ".", base: folders }, deep: true });
  if (wildcard !== -1) findings.add({ kind: "read", target: { text: pattern, base: folders }, deep: false });
}

function findUrl(text: string, { findings, folders }: ToolSetting): void {
  if (/^\s*file:/i.test(text))
    findings.add({ kind: "read", target: { text: text.trim(), base: folders }, deep: false });
  else {
    const address = /^[a-z][a-z0-9+.-]*:/i.test(text) ? text : `https://${text}`;
    findings.add({ kind: "net", host: hostOfUrl(address), looks: isDevelopmentUrl(address) });
  }
}

function findUrls(text: string, setting: ToolSetting): void {
  const found = text.match(/(?<![a-z0-9+.-])(?:[a-z][a-z0-9+.-]{0,31}:\/\/|file:)\S+/gi) ?? [];
  for (const url of found) findUrl(withoutEnd(url), setting);
  if (found.length === 0) setting.findings.add({ kind: "net", host: "*" });
}

/** An address in a sentence, without the signs behind it. */
function withoutEnd(url: string): string {
  let end = url.length;
  while (end > 0 && ")]}>,.;'\"!?".includes(url[end - 1] ?? "")) end -= 1;
  return url.slice(0, end);
}

/** Reads an argument that the table does not list. Ignores numbers and switches that are off. */
function readUnlistedArgument(name: string, argument: string, value: unknown, setting: ToolSetting): void {
  if (value === false || typeof value === "number") return;
  setting.findings.doubt(
    `${name} does not take ${JSON.stringify(argument).slice(0, 80)}, as far as is known`,
  );
  if (readUnknownArguments({ [argument]: value }, setting))
    setting.findings.hide(`${name} is given something that looks like a path or a command`);
}

const TEXT_LIMIT = 200;
const LENGTH_LIMIT = 4_096;
const COMMAND_NAME = /command|cmd|script|shell|bash|exec|code|program|argv/i;
const PATH_NAME = /path|file|dir|folder|uri|root|source|target|dest|location/i;

/**
 * Arguments of unknown meaning: what looks like a path, an address or a command counts as one, so that rules about
 * secrets and commands see it.
 * @returns whether anything did
 */
export function readUnknownArguments(given: unknown, { findings, shell, folders }: ToolSetting): boolean {
  let found = false;
  for (const { name, text } of textsIn(given, TEXT_LIMIT)) {
    if (text === "" || text.length > LENGTH_LIMIT) continue;
    if (COMMAND_NAME.test(name)) shell.runText(text, folders);
    else if (/^(?!file:)[a-z][a-z0-9+.-]*:\/\//i.test(text))
      findings.add({ kind: "net", host: hostOfUrl(text) });
    else if (
      !/\n/.test(text) &&
      (PATH_NAME.test(name) || /^(?:[~/]|\.{1,2}(?:\/|$)|file:|\.\w)|\/\.\.?(?:\/|$)|\\/.test(text))
    ) {
      findings.add({ kind: "read", target: { text, base: folders }, deep: true });
    } else if (!/[;&|`<>]|\$\(/.test(text) && !/^[\w.-]+\/[\w./-]+$/.test(text)) continue;
    found = true;
  }
  return found;
}

/** Goes through the commands of a tool call. */
export interface ShellRunner {
  runText(text: string, folders: readonly string[]): void;
  /** A program and its arguments, with no shell around them. */
  runWords(words: readonly string[], folders: readonly string[]): void;
}

/** A runner for one action. */
export function shellRunner(findings: Findings, parse: ParseText, context: FactsContext): ShellRunner {
  const scope = (folders: readonly string[]): Scope => {
    const start = new Scope({ folders, home: context.home, environment: context.environment });
    start.positional = [];
    return start;
  };
  return {
    runText: (text, folders) => new Interpreter(findings, parse).runScript(text, scope(folders)),
    runWords: (words, folders) =>
      new Interpreter(findings, parse).runWords(words.map(knownValue), scope(folders)),
  };
}
