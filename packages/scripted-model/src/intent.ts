import { randomUUID } from "node:crypto";
import { fill, fillDeep, isRecord } from "@reins/kit";
import { z } from "zod";
import type { Conversation, OfferedTool, SpokenPart } from "./dialect.ts";
import type { CallArguments, Part } from "./script.ts";

/** What the model means to do, in no agent's words. */
export interface Intent {
  readonly name: string;
  /** The intent whose words do as well, for agents that have none of their own for this one. */
  readonly otherwise?: string;
  readonly values: Readonly<Record<string, unknown>>;
}

/** Makes, or replaces, a file. */
export function writeFile(path: string, content: string): Intent {
  return { name: "write_file", values: { path, content } };
}

/** Looks into a file. */
export function readFile(path: string): Intent {
  return { name: "read_file", values: { path } };
}

/** Runs a command line. */
export function runCommand(command: string): Intent {
  return { name: "run_command", values: { command } };
}

/** Runs a command line that changes nothing, in words that do not make an agent ask more than it does by itself. */
export function lookAround(command: string): Intent {
  return { name: "look_around", otherwise: "run_command", values: { command } };
}

/** Gets a page of the web. */
export function fetchPage(url: string): Intent {
  return { name: "fetch_page", values: { url } };
}

/** Has a sub-agent do something, and waits for it. */
export function startAgent(prompt: string): Intent {
  return { name: "start_agent", values: { prompt } };
}

/** Has something done when the turn is over: by a sub-agent in the background, or by the agent itself. */
export function workLater(prompt: string): Intent {
  return { name: "work_later", otherwise: "start_agent", values: { prompt } };
}

/** Calls a tool of an MCP server. */
export function callMcpTool(
  server: string,
  tool: string,
  given: Readonly<Record<string, unknown>> = {},
): Intent {
  return { name: "mcp_tool", values: { server, tool, arguments: given } };
}

/** One way an agent's tools can carry out an intent; `${…}` stands for what the intent holds. */
const Wording = z.strictObject({
  tool: z.string(),
  /** The group the tool is called under. */
  namespace: z.string().optional(),
  /** The tool may be called though it is not on offer, as long as this one is: the agent holds it back. */
  beside: z.string().optional(),
  /** Arguments by name, or the whole text for a tool that takes one as it is. */
  arguments: z.union([z.record(z.string(), z.unknown()), z.string()]),
});

/** How an agent's tools carry out intents: by intent, the ways to try, best first. */
export const Wordings = z.record(z.string(), z.array(Wording));
export type Wordings = z.infer<typeof Wordings>;

/** An intent in the words of the asking agent. */
export interface WordedCall {
  readonly tool: string;
  readonly namespace?: string;
  readonly arguments: CallArguments;
}

/** Puts an intent into the first words that the tools on offer understand; undefined when there are none. */
export function wordIntent(
  intent: Intent,
  wordings: readonly Wordings[],
  { tools }: Conversation,
): WordedCall | undefined {
  const { name, otherwise = name } = intent;
  for (const wording of wordings.flatMap((each) => each[name] ?? each[otherwise] ?? [])) {
    const tool = fill(wording.tool, intent.values);
    const namespace = wording.namespace === undefined ? undefined : fill(wording.namespace, intent.values);
    const given = fillDeep(wording.arguments, intent.values);
    if (typeof given !== "string" && !isRecord(given)) continue;
    if (tools.some((offer) => offer.name === wording.beside || understands(offer, tool, namespace, given))) {
      return { tool, ...(namespace !== undefined && { namespace }), arguments: given };
    }
  }
  return undefined;
}

function understands(
  offer: OfferedTool,
  tool: string,
  namespace: string | undefined,
  given: CallArguments,
): boolean {
  if (offer.name !== tool || offer.namespace !== namespace) return false;
  if (typeof given === "string") return offer.freeform;
  if (offer.freeform || !offer.required.every((name) => name in given)) return false;
  return offer.properties.length === 0 || Object.keys(given).every((name) => offer.properties.includes(name));
}

/** A part in the words of the asking agent, or a wait. */
export type ReadyPart = SpokenPart | (Part & { readonly kind: "hold" });

/** Puts parts into the asking agent's words. Intents it has no tool for become texts that say so, and are listed. */
export function speak(
  parts: readonly Part[],
  wordings: readonly Wordings[],
  conversation: Conversation,
): { readonly parts: readonly ReadyPart[]; readonly unmet: readonly string[] } {
  const unmet: string[] = [];
  const ready = parts.map((part): ReadyPart => {
    if (part.kind === "call") return { ...part, id: callId() };
    if (part.kind !== "intent") return part;
    const worded = wordIntent(part.intent, wordings, conversation);
    if (worded) return { kind: "call", id: callId(), ...worded };
    unmet.push(part.intent.name);
    return { kind: "text", pieces: [`There is no tool for ${part.intent.name}.`] };
  });
  return { parts: ready, unmet };
}

// Agents keep calls by their id over restarts, so it may not come twice.
function callId(): string {
  return randomUUID().replaceAll("-", "").slice(0, 24);
}
