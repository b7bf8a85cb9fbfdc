import type { Action } from "../action.ts";
import { readScript, shellParser } from "./shell/reader/reader.ts";
import type { Statement, Word } from "./shell/syntax.ts";
import { isRecord } from "./tool/tool-call.ts";

/**
 * Arguments of tools that run commands which change nothing about what is run: words about it, and how long it is waited
 * for. Only of these tools; the description of an issue, for one, is what is written there.
 */
const DESCRIBING: Readonly<Record<string, readonly string[]>> = {
  Bash: ["description", "timeout"],
  Monitor: ["description", "timeout_ms"],
  bash: ["description", "timeout", "timeout_ms", "initial_wait"],
  shell: ["timeout", "timeout_ms", "justification"],
  local_shell: ["timeout_ms"],
  shell_command: ["timeout_ms", "justification"],
  exec_command: ["yield_time_ms", "max_output_tokens", "justification"],
  acp_execute: ["description", "timeout"],
  run_shell_command: ["description", "timeout"],
  run_command: ["timeout_ms"],
};
const COMMANDS = ["command", "cmd"] as const;
const FOLDERS: ReadonlySet<string> = new Set([
  "cwd",
  "workdir",
  "working_dir",
  "working_directory",
  "directory",
  "dir_path",
]);
const SHELLS: ReadonlySet<string> = new Set(["bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/usr/bin/bash"]);
/** What a shell makes something else of, where it is not quoted. */
const EXPANDED = /[*?[\]{}~!^]/;

/** The arguments of an action without those that only describe it. */
export function tellingArguments({ tool, arguments: given }: Pick<Action, "tool" | "arguments">): unknown {
  const describing = Object.hasOwn(DESCRIBING, tool) ? DESCRIBING[tool] : undefined;
  if (!describing || !isRecord(given)) return given;
  return Object.fromEntries(Object.entries(given).filter(([name]) => !describing.includes(name)));
}

/** A single command, as its words, and the folder that the call names for it. */
export interface SimpleCommand {
  readonly words: readonly string[];
  readonly folder?: string;
}

/**
 * The command of an action that runs one and nothing else: every word is written out, nothing is redirected, assigned,
 * substituted, expanded or sent to the background. Nothing for any other action.
 */
export async function simpleCommand(action: Action): Promise<SimpleCommand | undefined> {
  const given = tellingArguments(action);
  if (!Object.hasOwn(DESCRIBING, action.tool) || !isRecord(given)) return undefined;
  const members = Object.entries(given);
  const commands = members.filter(([name]) => COMMANDS.some((one) => one === name));
  const folders = members.filter(([name]) => FOLDERS.has(name));
  if (commands.length !== 1 || folders.length > 1 || members.length !== commands.length + folders.length)
    return undefined;
  const words = await wordsOf(commands[0]?.[1]);
  const folder = folders[0]?.[1];
  if (!words || words.length === 0 || (folder !== undefined && typeof folder !== "string")) return undefined;
  return { words, ...(folder !== undefined && { folder }) };
}

async function wordsOf(command: unknown): Promise<readonly string[] | undefined> {
  if (typeof command === "string") return wordsIn(command);
  if (!Array.isArray(command)) return undefined;
  const words = command.filter((word) => typeof word === "string");
  if (words.length !== command.length) return undefined;
  const [shell = "", option = "", text, ...rest] = words;
  if (!SHELLS.has(shell)) return words;
  return /^-l?c$/.test(option) && text !== undefined && rest.length === 0 ? wordsIn(text) : undefined;
}

async function wordsIn(text: string): Promise<readonly string[] | undefined> {
  // What these put around a command is not in the tree, and `$'a'` is not the same word to every shell.
  if (/^\s*[!{(]|\$['"]/.test(text)) return undefined;
  const { body, unclear } = readScript(text, await shellParser());
  const command = unclear.length === 0 ? onlyCommand(body) : undefined;
  const words = command?.words.map(literal);
  return words?.every((word) => word !== undefined) ? words : undefined;
}

function onlyCommand(body: Statement): Extract<Statement, { kind: "command" }> | undefined {
  if (body.kind === "sequence") {
    const [only, ...others] = body.statements;
    return only && others.length === 0 ? onlyCommand(only) : undefined;
  }
  if (body.kind !== "command" || body.assignments.length > 0 || body.redirects.length > 0) return undefined;
  return body;
}

/** A word that stands for itself. */
function literal(word: Word): string | undefined {
  let text = "";
  for (const part of word) {
    if (part.kind !== "text" || (!part.quoted && EXPANDED.test(part.text))) return undefined;
    text += part.text;
  }
  return text;
}
