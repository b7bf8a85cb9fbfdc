import type { Setting } from "./settings.ts";
import type { ToolCall } from "./tool-call.ts";
import type { Said } from "./verdict.ts";

/** Who says something. The harness speaks for itself where it had to step in. */
export type Speaker = "user" | "agent" | "thought" | "harness";

/** One thing in a conversation. An item that changes is another object, so that whoever shows it can tell. */
export type Item =
  | {
      readonly kind: "message";
      readonly from: Speaker;
      readonly text: string;
      /** What the agent calls the message, where it names them. */
      readonly name: string | undefined;
      readonly said: Said | undefined;
    }
  | { readonly kind: "tool"; readonly call: ToolCall }
  | { readonly kind: "note"; readonly tone: "note" | "warn" | "bad"; readonly text: string };

/** One step of a plan. */
export interface PlanStep {
  readonly content: string;
  readonly status: string;
}

/** A command that the agent takes, written with a slash before it. */
export interface Command {
  readonly name: string;
  readonly about: string;
  readonly hint: string | undefined;
}

/** What was used so far. */
interface Usage {
  readonly used: number;
  readonly size: number;
  readonly cost: { readonly amount: number; readonly currency: string } | undefined;
}

/** A session as its updates tell it. */
export interface Conversation {
  readonly items: readonly Item[];
  readonly plan: readonly PlanStep[];
  readonly commands: readonly Command[];
  readonly settings: readonly Setting[];
  readonly usage: Usage | undefined;
}

/** A session of which nothing was told. */
export const NOTHING_SAID: Conversation = {
  items: [],
  plan: [],
  commands: [],
  settings: [],
  usage: undefined,
};
