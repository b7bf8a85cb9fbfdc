import { resolve } from "node:path";
import { type AcpContent, blockText, readContent, withText } from "@reins/acp";
import type { AgentEntry, CommandEffect } from "@reins/agents";
import type { Decided } from "@reins/supervisor";
import { enforce } from "../control/enforce.ts";
import type { GovernedSession, Turn } from "./governed-session.ts";
import { defusedWhole } from "./mentions.ts";
import { PromptFiles } from "./prompt-files.ts";

/** Something at the beginning of a text that an agent may take for an order to itself, not to its model. */
interface PromptCommand {
  /** By what it is known: `/` for a command, `!` for one of the shell. */
  readonly sign: "/" | "!";
  /** Its name in small letters, without what cannot be seen. */
  readonly name: string;
  /** Where it begins and ends in the text. */
  readonly from: number;
  readonly to: number;
}

/** What of the user's blocks is passed on, and which of them are commands that may be. */
interface SettledCommands {
  readonly prompt: readonly unknown[];
  readonly commands: ReadonlySet<unknown>;
  /** The verdict that keeps the prompt from the agent. */
  readonly refused?: Decided;
}

/** Commands that switch asking off in one agent or another. They are refused whether or not the agent knows them. */
const GATE: ReadonlySet<string> = new Set([
  ...["allow-all", "allow-all-tools", "allow-all-paths", "allowall", "yolo", "autopilot", "auto-approve"],
  ...[
    "permissions",
    "permission",
    "allowed-tools",
    "approval-mode",
    "approvals",
    "approve-all",
    "full-access",
  ],
  ...[
    "bypass",
    "bypass-permissions",
    "dangerously-skip-permissions",
    "skip-permissions",
    "reset-allowed-tools",
  ],
  ...["trust", "sandbox", "add-dir", "always-allow", "autoapprove"],
]);

/** What may precede a command unseen: blanks, controls, marks that join or turn text. */
const UNSEEN = /^(?:[\p{C}\p{Z}\s\u115F\u1160\u17B4\u17B5\u3164\uFFA0]|\p{Variation_Selector}|\u034F)$/u;
const SLASHES: ReadonlySet<string> = new Set([
  "/",
  "\u2044",
  "\u2215",
  "\u29F8",
  "\u2571",
  "\u27CB",
  "\uFF0F",
]);
const MARKS: ReadonlySet<string> = new Set(["!", "\uFF01", "\uFE57", "\u01C3"]);
/** As long as the name of a command may be; what is longer is none. */
const MAX_NAME = 128;

/** The command at the beginning of a text, if there is one. */
function commandIn(text: string): PromptCommand | undefined {
  let from = 0;
  for (const sign of text) {
    if (!UNSEEN.test(sign)) break;
    from += sign.length;
  }
  const first = String.fromCodePoint(text.codePointAt(from) ?? 0x20);
  const sign = SLASHES.has(first) ? "/" : MARKS.has(first) ? "!" : undefined;
  if (sign === undefined) return undefined;
  let to = from + first.length;
  while (to < text.length && to - from < MAX_NAME && !/\s/u.test(text[to] ?? " ")) to += 1;
  const name = [...text.slice(from + first.length, to).normalize("NFKC")]
    .filter((one) => !UNSEEN.test(one))
    .join("")
    .toLowerCase();
  return name === "" ? undefined : { sign, name, from, to };
}

/** A text whose beginning no agent takes for a command: it stands in backticks, and names no files and no shell commands. */
function asText(text: string, { from, to }: Pick<PromptCommand, "from" | "to">): string {
  return `${text.slice(0, from)}\`${text.slice(from, to)}\`${text.slice(to)}`;
}

/**
 * Decides about the commands in a user's prompt. One that changes what the agent asks for is refused like the mode that it
 * sets; one that writes or schedules is a control point of its own; an unknown one is sent as text.
 */
export async function settleCommands(
  session: GovernedSession,
  turn: Turn,
  prompt: readonly unknown[],
): Promise<SettledCommands> {
  const settled: unknown[] = [];
  const commands = new Set<unknown>();
  if (!session.context.profile.interpretsPrompts) return { prompt, commands };
  for (const block of prompt) {
    const text = blockText(block);
    const command = text === undefined ? undefined : commandIn(text);
    if (text === undefined || !command) {
      settled.push(block);
      continue;
    }
    const effect = effectOf(session.context.entry, session.commands, command);
    if (effect === "text") {
      settled.push(withText(block, asText(text, command)));
      continue;
    }
    const refused = await refusalOf(session, turn, { ...command, effect, text });
    if (refused) return { prompt, commands, refused };
    // What a command is given may be read, or even run, when its template is filled in.
    const harmless = withText(block, defusedWhole(text).replaceAll("!`", "! `"));
    commands.add(harmless);
    settled.push(harmless);
  }
  return { prompt: settled, commands };
}

/** The prompt without commands that were not decided: mail and files contain texts of others. */
export function withoutCommands(
  { context }: GovernedSession,
  prompt: readonly unknown[],
  decided: ReadonlySet<unknown>,
): readonly unknown[] {
  if (!context.profile.interpretsPrompts) return prompt;
  return prompt.map((block) => {
    const text = blockText(block);
    if (text === undefined || decided.has(block)) return block;
    const command = commandIn(text);
    return command ? withText(block, asText(text, command)) : block;
  });
}

/** What a command does: what the catalogue says, `announced` for one that only the agent itself names, or nothing but text. */
function effectOf(
  { prompts }: AgentEntry,
  announced: readonly string[],
  { sign, name }: PromptCommand,
): CommandEffect | "announced" | "text" {
  if (sign === "!") return "text";
  const known = Object.hasOwn(prompts.commands, name) ? prompts.commands[name] : undefined;
  if (known !== undefined) return known;
  if (GATE.has(name)) return "gate";
  return announced.some((one) => nameOf(one) === name) ? "announced" : "text";
}

/** The name of a command as it is announced, without the slash and without what belongs to it. */
function nameOf(announced: string): string {
  return announced.replace(/^\//u, "").split(/\s/u, 1)[0]?.toLowerCase() ?? "";
}

interface Decidable extends PromptCommand {
  readonly effect: CommandEffect | "announced";
  readonly text: string;
}

/** Why a command is not passed on; nothing where it may be. */
async function refusalOf(
  session: GovernedSession,
  turn: Turn,
  { effect, name, text }: Decidable,
): Promise<Decided | undefined> {
  if (effect === "harmless") return undefined;
  for (const { tool, args } of pointsOf(session, { effect, name, text })) {
    const point = { kind: "agent_command", tool, arguments: args } as const;
    const enforced = await enforce(session, point, turn);
    if (enforced.kind === "allowed") {
      if (effect === "gate") turn.mayLeaveMode = true;
      continue;
    }
    const reason = `/${name} is a command of the agent itself: ${enforced.verdict.reason}`;
    return { ...enforced.verdict, reason };
  }
  return undefined;
}

/** What is decided about a command, as the rules know it. */
function pointsOf(
  { record }: GovernedSession,
  { effect, name, text }: Pick<Decidable, "effect" | "name" | "text">,
): readonly { readonly tool: string; readonly args: Record<string, unknown> }[] {
  if (effect === "gate") return [{ tool: "session/set_mode", args: { mode: `/${name}`, asks: "false" } }];
  if (typeof effect === "object")
    return effect.writes.map((file) => ({
      tool: "fs/write_text_file",
      args: { path: resolve(record.cwd, file) },
    }));
  return [{ tool: "agent/command", args: { command: text.slice(0, 4_096), effect } }];
}

/**
 * A prompt in which every file that it names was read by the harness, each after a verdict of its own: the agent gets the
 * content, or why it does not, and no link or reference that it would read by itself.
 */
export async function withFiles(
  session: GovernedSession,
  turn: Turn,
  { prompt, commands }: { readonly prompt: readonly unknown[]; readonly commands: ReadonlySet<unknown> },
): Promise<readonly unknown[]> {
  if (!prompt.some(namesSomething)) return prompt;
  const files = new PromptFiles(session, turn);
  const blocks: unknown[] = [];
  // An agent knows a command only where nothing else is beside it.
  for (const block of prompt) blocks.push(...(commands.has(block) ? [block] : await files.take(block)));
  return blocks;
}

/** Whether a block may name a file at all; most prompts have none that does. */
function namesSomething(block: unknown): boolean {
  const text = blockText(block);
  if (text !== undefined) return text.includes("@");
  const { uri, resource } = readContent(block);
  return uri !== undefined || resource.uri !== undefined;
}

/** The text of a prompt, for other harnesses and people; of what is no text, where it is, or only that it is there. */
export function promptText(prompt: readonly unknown[]): string {
  return prompt.map(readContent).flatMap(textsIn).join("\n");
}

function textsIn({ type, text, uri, resource }: AcpContent): readonly string[] {
  const texts = [text, uri, resource.uri, resource.text].filter((one) => one !== undefined);
  return texts.length > 0 ? texts : [`[${String(type)}]`];
}

/**
 * Puts what was refused since the last prompt in front of this one, with the reasons: most agents pass no more to their
 * models than that the user said no. A command counts only at the beginning, so it is not preceded.
 */
export function withRefusals(
  { context, refusals }: GovernedSession,
  prompt: readonly unknown[],
): readonly unknown[] {
  if (context.profile.refusals === "with_answer") return prompt;
  if (refusals.length === 0 || /^\s*[/!]/.test(readContent(prompt[0]).text ?? "")) return prompt;
  const heading = "Not allowed since the last message, by the rules of this session:";
  const text = [heading, ...refusals.splice(0)].join("\n- ");
  return [{ type: "text", text }, ...prompt];
}
