import type { JsonObject } from "@reins/acp";
import { isRecord } from "@reins/kit";
import { enforce } from "../control/enforce.ts";
import { chargePrompt } from "../control/outcome.ts";
import type { GovernedSession } from "./governed-session.ts";
import { promptText } from "./prompt-content.ts";
import { modifiedPrompt, refuse } from "./run-turn.ts";

/** What the native agent is asked, to take a prompt into its turn under way. */
const STEER = "_reins/steer";

/** Who steers, and what follows once the agent has taken the prompt. */
export interface Steering {
  readonly signal: AbortSignal;
  /** The user who sends the prompt. */
  readonly by: string;
  readonly onTaken: () => void;
}

/**
 * Passes a prompt to the agent in its turn under way, after the verdict on it. Resolves with the response when that turn
 * is over, or the prompt was withdrawn before the agent has read it; with nothing where the prompt has to wait for a turn
 * of its own: the turn is another user's, or over before the agent has read it, or the agent takes none.
 */
export async function steerTurn(
  session: GovernedSession,
  { prompt }: JsonObject,
  { signal, by, onTaken }: Steering,
): Promise<JsonObject | undefined> {
  const { turn, turnOver, context } = session;
  const isTaken = context.profile.steering === "in_turn" && turn !== undefined && turn.promptedBy === by;
  if (!isTaken || turn.isCancelled || !Array.isArray(prompt)) return undefined;
  const payload = { prompt: promptText(prompt), message_count: prompt.length };
  const waiting = session.within(signal);
  const left = () => (turn.isCancelled || signal.aborted ? { stopReason: "cancelled" } : undefined);
  const enforced = await enforce(
    session,
    { kind: "prompt", payload, origin: "client" },
    { signal: waiting },
  ).catch((error: unknown) => {
    if (turn.isOver || signal.aborted) return undefined;
    throw error;
  });
  if (!enforced) return left();
  if (enforced.kind === "refused") return refuse(session, enforced.verdict);
  await chargePrompt(session, {}, { entry: enforced.verdict.entry });
  // The turn may have ended meanwhile, and the next one be another user's.
  if (session.turn !== turn || turn.isOver || signal.aborted) return left();
  const passed = enforced.kind === "modified" ? modifiedPrompt(enforced.arguments, prompt) : prompt;
  const asked = { sessionId: session.agentSessionId, prompt: passed };
  const answer = await context.agent.request(STEER, asked, { signal });
  if (!isRecord(answer) || answer.taken !== true) return left();
  onTaken();
  await turnOver;
  return { stopReason: turn.isCancelled ? "cancelled" : "end_turn" };
}
