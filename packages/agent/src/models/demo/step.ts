import type { JsonObject } from "../../acp/message.ts";
import type { ToolResult } from "../../history/part.ts";

/** What the demo model does next: it says something, and calls a tool or is done. */
export interface Step {
  readonly say: string;
  readonly call?: { readonly name: string; readonly arguments: JsonObject };
  /** Milliseconds between two words, for an answer that takes its time. */
  readonly pace?: number;
}

/** One thing the demo model can do: the next step, by what was asked and what tools have given back so far. */
export type Scene = (
  words: string,
  results: readonly ToolResult[],
  /** What was told beside the prompt. */
  context: string,
) => Step;

/** Said once in a session, so that nobody takes a script for a model. */
export const WHO =
  "(This was the demo model, a script that needs no key. Say hello to hear what it can do. For a model that thinks, set ANTHROPIC_API_KEY or OPENAI_API_KEY.)";

/** A step that calls a tool. */
export function calling(say: string, name: string, given: JsonObject): Step {
  return { say, call: { name, arguments: given } };
}

/** A last step. */
export function saying(say: string): Step {
  return { say };
}

const REFUSAL = /^Not allowed: (.+?)(?:\. It was not done\b|$)/s;

/** What is said of something that was not done. */
export function refused({ text }: ToolResult): Step {
  const [, reason] = REFUSAL.exec(text) ?? [];
  if (reason === undefined) return saying(`That did not work. ${text}`);
  return saying(
    `I was not allowed to do that: ${reason}. Reins decided so before anything happened, and the verdict is on record (reins ledger log shows it).`,
  );
}

/** Whether something was not done because it was not allowed. */
export function isRefusal({ text }: ToolResult): boolean {
  return REFUSAL.test(text);
}
