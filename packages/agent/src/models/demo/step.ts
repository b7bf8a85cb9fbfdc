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
export type Scene = (words: string, results: readonly ToolResult[]) => Step;

/** A step that calls a tool. */
export function calling(say: string, name: string, given: JsonObject): Step {
  return { say, call: { name, arguments: given } };
}

/** A last step. */
export function saying(say: string): Step {
  return { say };
}

/** What is said of something that was not done. */
export function refused({ text }: ToolResult): Step {
  return saying(`That did not happen. ${text}`);
}
