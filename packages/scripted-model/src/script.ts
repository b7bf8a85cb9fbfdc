import { type Conversation, mentionOf, resultsAfter } from "./dialect.ts";
import type { Intent } from "./intent.ts";

/**
 * What a scripted model answers. It sees one request and nothing else: agents ask on the side (for titles, for
 * judgements), repeat what failed and start again from a stored history, so whatever it remembered would be wrong.
 */
export type Script = (conversation: Conversation) => ModelStep | Promise<ModelStep>;

/** One exchange: a word that its prompt holds, and what the model does, one step for each result that came back. */
export interface Scene {
  readonly prompt: string;
  readonly steps: readonly ModelStep[];
}

/** One scene of a script. */
export function scene(prompt: string, ...steps: readonly ModelStep[]): Scene {
  return { prompt, steps };
}

/** A script of scenes. A prompt that is in none gets a plain answer, and so does a scene that has come to its end. */
export function scenes(...all: readonly Scene[]): Script {
  return (conversation) => {
    const mentioned = all.map((each) => ({ ...each, at: mentionOf(each.prompt, conversation) }));
    const current = mentioned.reduce<(typeof mentioned)[number] | undefined>(
      (last, each) => (each.at > (last?.at ?? -1) ? each : last),
      undefined,
    );
    if (!current) return reply(say("Hello."));
    return current.steps[resultsAfter(current.at, conversation).length] ?? reply(say("Done."));
  };
}

/** One piece of what the model says. */
export type Part =
  | { readonly kind: "text" | "thinking"; readonly pieces: readonly string[] }
  /** A call of exactly this tool. */
  | { readonly kind: "call"; readonly tool: string; readonly arguments: CallArguments }
  /** A call of whichever tool on offer does this. */
  | { readonly kind: "intent"; readonly intent: Intent }
  /** Nothing more until this has happened, or the asker has gone. */
  | { readonly kind: "hold"; readonly until: PromiseLike<unknown> };

/** Arguments by name, or the text of a tool that takes one as it is. */
export type CallArguments = Readonly<Record<string, unknown>> | string;

/** The answer to one request. */
export type ModelStep =
  | { readonly kind: "reply"; readonly parts: readonly Part[]; readonly stop: "end" | "length" }
  /** The connection is dropped after these parts, in the middle of the last one if that is a call. */
  | { readonly kind: "cut"; readonly parts: readonly Part[] }
  | {
      readonly kind: "error";
      readonly status: number;
      readonly message: string;
      readonly retryAfterSeconds: number | undefined;
    };

/** Text; each piece is sent by itself when the answer is streamed. */
export function say(...pieces: readonly string[]): Part {
  return { kind: "text", pieces };
}

/** Reasoning that is shown apart from the answer. */
export function think(...pieces: readonly string[]): Part {
  return { kind: "thinking", pieces };
}

/** Calls a tool by the name the agent gave it. */
export function call(tool: string, given: CallArguments): Part {
  return { kind: "call", tool, arguments: given };
}

/** Calls whichever tool on offer does what is meant. */
export function attempt(intent: Intent): Part {
  return { kind: "intent", intent };
}

/** Keeps the stream waiting. */
export function hold(until: PromiseLike<unknown>): Part {
  return { kind: "hold", until };
}

/** An answer that ends as it should. */
export function reply(...parts: readonly Part[]): ModelStep {
  return { kind: "reply", parts, stop: "end" };
}

/** An answer that stops because it became too long. */
export function overlong(...parts: readonly Part[]): ModelStep {
  return { kind: "reply", parts, stop: "length" };
}

/** An answer that breaks off. */
export function cut(...parts: readonly Part[]): ModelStep {
  return { kind: "cut", parts };
}

/** An HTTP error in the dialect's own form. */
export function refuse(
  status: number,
  message = "The script says no.",
  retryAfterSeconds?: number,
): ModelStep {
  return { kind: "error", status, message, retryAfterSeconds };
}
