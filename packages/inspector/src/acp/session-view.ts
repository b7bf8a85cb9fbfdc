import { type Conversation, NOTHING_SAID } from "./conversation/conversation.ts";
import type { Question } from "./question.ts";

/** Something that was sent and whose turn has not come, or that got lost on the way. */
export interface WaitingPrompt {
  readonly id: string;
  readonly text: string;
  /** `unsure`: the line was cut before its turn came, and nobody knows whether the server still has it. */
  readonly state: "sent" | "unsure";
}

/** Whether a turn runs in a session. */
export type TurnState = "running" | "idle";

/** How a session stands in this page. */
export interface SessionView {
  readonly conversation: Conversation;
  readonly questions: readonly Question[];
  readonly waiting: readonly WaitingPrompt[];
  /** The prompts of this page whose turn runs. */
  readonly running: readonly string[];
  /** What the server told last of the turns that others began; nothing before it did. */
  readonly turn: TurnState | undefined;
  /** How often something was heard that changes what the server keeps of the session. */
  readonly changes: number;
  /** `taking_up`: what was said before is on its way; `cut`: the line is lost and will be taken up again. */
  readonly phase: "taking_up" | "live" | "cut" | "failed";
  readonly error: unknown;
}

/** A session before anything is known of it. */
export const UNKNOWN: SessionView = {
  conversation: NOTHING_SAID,
  questions: [],
  waiting: [],
  running: [],
  turn: undefined,
  changes: 0,
  phase: "taking_up",
  error: undefined,
};
