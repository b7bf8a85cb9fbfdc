import { compact, compactIfFull } from "../compaction/compact.ts";
import { type AssistantPart, type CallPart, textOf } from "../history/part.ts";
import { ModelError } from "../models/model-error.ts";
import { askModel } from "./ask-model.ts";
import { briefText } from "./brief-text.ts";
import { carryOut } from "./carry-out.ts";
import { goesOn } from "./confirmation.ts";
import type { Answer } from "./draft.ts";
import { type Brief, gather } from "./gather.ts";
import { askLeave } from "./leave.ts";
import { showPlan } from "./reports.ts";
import type { Turn } from "./turn.ts";
import type { TurnEnd } from "./turn-event.ts";
import { totalOf } from "./usage.ts";

/**
 * One turn, from the prompt to its end: find out what is wanted, ask the model, carry out what it calls for, and ask
 * again, until it has nothing more to do or may not go on. It never throws: a failure is an end like any other, after
 * which the session can be used.
 */
export async function runTurn(turn: Turn): Promise<TurnEnd> {
  try {
    turn.reach("created", { prompt: turn.words.slice(0, 2_000) });
    const brief = await gather(turn);
    if ("refused" in brief) return await refuse(turn, brief.refused);
    await begin(turn, brief);
    for (let request = 1; request <= turn.setting.limits.requests; request += 1) {
      if (!(await goesOn(turn, request))) return stopped("max_turn_requests");
      await compactIfFull(turn);
      const leave = await askLeave(turn, request);
      if (leave.kind === "refused") return await refuse(turn, leave.reason);
      turn.reach("executing");
      const answer = await answerOf(turn);
      await keepAnswer(turn, answer);
      switch (answer.stop) {
        case "end":
          return stopped("end_turn");
        case "max_tokens":
          return stopped("max_tokens");
        case "refusal":
          return await refuse(turn, "the model would not go on");
        case "context_exceeded":
          await compact(turn);
          break;
        case "tool_use": {
          const results = await carryOut(turn, answer.parts.filter(isCall));
          await turn.setting.keep({ kind: "results", ...turn.mark, results: [...results] });
          break;
        }
        case "paused":
          break;
      }
      turn.signal.throwIfAborted();
    }
    return stopped("max_turn_requests", `the model was asked ${turn.setting.limits.requests} times`);
  } catch (error) {
    if (turn.signal.aborted) return stopped("cancelled");
    return { kind: "failed", error: error instanceof Error ? error : new Error(String(error)) };
  }
}
