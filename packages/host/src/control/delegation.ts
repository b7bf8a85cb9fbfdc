import { membersOf } from "@reins/acp";
import type { ControlEvent } from "@reins/supervisor";
import type { GovernedSession } from "../governor/governed-session.ts";

/** How much a session may use that another one began. */
export interface Allowance {
  /** Calls of tools. */
  readonly calls: number;
  /** Tokens, as far as its agent tells. */
  readonly tokens: number;
}

/** What a session stands under that another one began. It is in memory only, and ends with the turn that began it. */
export interface Descent {
  /** The session that began it. */
  readonly parent: string;
  /** What it is known by to identity, which holds its scopes and its chain. */
  readonly token: string;
  /** How far below the user's own agent it stands. */
  readonly depth: number;
  /** The folders of the session that began it: it works in no others. */
  readonly roots: readonly string[];
  /** The only tools it may use; all that the policy leaves it when absent. */
  readonly tools?: readonly string[] | undefined;
  readonly allowance: Allowance;
}

/** Why a session may not do something that goes beyond what it was given; nothing when it may. */
export function beyondDescent(
  { descent, toolCalls, turn }: GovernedSession,
  { event_type, payload }: ControlEvent,
  tool: string,
): string | undefined {
  if (!descent || (event_type !== "pre_action" && event_type !== "pre_prompt")) return undefined;
  const { tools, allowance } = descent;
  if (event_type === "pre_action" && tools && !tools.includes(tool))
    return `the task was given ${tools.join(", ") || "no tools"}, and not ${tool}`;
  if (toolCalls.begun > allowance.calls) return `the task's ${allowance.calls} calls are used up`;
  const told = membersOf(payload).tokens_used;
  const tokens = Math.max(typeof told === "number" ? told : 0, turn?.tokens ?? 0);
  return tokens > allowance.tokens ? `the task's ${allowance.tokens} tokens are used up` : undefined;
}
