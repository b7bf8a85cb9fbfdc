import type { Turn } from "./turn.ts";

/** Whether a turn that has gone on for long may go on: the supervisor says so, or a person. */
export async function goesOn(turn: Turn, request: number): Promise<boolean> {
  const { limits, emit, sessionId } = turn.setting;
  const made = request - 1;
  if (made === 0 || made % limits.confirmEvery !== 0) return true;
  const message = `The model was asked ${made} times in this turn. Is it to go on?`;
  const decision = await turn.ask("confirmation", {
    session_id: sessionId,
    confirmation_type: "cost_confirm",
    message,
    options: ["go on", "stop"],
  });
  if (decision.decision === "approve") return true;
  const refusal = decision.decision === "reject" ? decision.reason : await askPerson(turn, message);
  if (refusal === undefined) return true;
  await emit({ type: "notice", severity: "warning", title: "The turn was ended", description: refusal });
  return false;
}

/** Puts the question to whoever answers permission requests; why not, if so. */
async function askPerson(turn: Turn, message: string): Promise<string | undefined> {
  const { gate, emit, newId } = turn.setting;
  const toolCallId = newId();
  const call = {
    toolCallId,
    title: message,
    name: "continue_turn",
    kind: "other",
    rawInput: { message },
    locations: [],
    content: [],
  } as const;
  await emit({ type: "call", call });
  const permission = await gate.ask(call, turn.signal);
  const status = permission.kind === "given" ? "completed" : "failed";
  await emit({ type: "call_update", toolCallId, status });
  return permission.kind === "given" ? undefined : permission.reason;
}
