import { isObject } from "@reins/acp";
import { partsText } from "../history/entry.ts";
import { totalOf } from "../models/tokens.ts";
import type { Turn } from "./turn.ts";

/** Whether the model may be asked. */
export type PromptPermission =
  | { readonly kind: "given" }
  | { readonly kind: "refused"; readonly reason: string };

/** The longest prompt that is reported. */
const MAX_PROMPT = 256 * 1024;
/** The most deferrals of one decision. */
const MAX_DEFERRALS = 20;

/** Requests permission for a request to the model; every request of a turn is decided. */
export async function requestPromptPermission(turn: Turn, request: number): Promise<PromptPermission> {
  const { sessionId } = turn.setting;
  for (let deferrals = 0; deferrals <= MAX_DEFERRALS; deferrals += 1) {
    const decision = await turn.ask("pre_prompt", {
      session_id: sessionId,
      prompt: (request === 1 ? turn.words : lastResults(turn)).slice(0, MAX_PROMPT),
      message_count: turn.messages.length + (request === 1 ? 1 : 0),
      model: turn.model.info.id,
      request,
      tokens_used: totalOf(turn.usage),
      purpose: "turn",
    });
    switch (decision.decision) {
      case "allow":
        return modify(turn, request, decision.modified_payload);
      case "modify":
        return modify(turn, request, decision.modified_payload);
      case "block":
      case "escalate":
        return { kind: "refused", reason: decision.reason };
      case "defer":
        await turn.wait(decision.retry_after_ms);
    }
  }
  return { kind: "refused", reason: "the decision was deferred too often" };
}

/** Only the user's words can be modified; a modification of tool results blocks the request. */
function modify(turn: Turn, request: number, payload: unknown): PromptPermission {
  if (payload === undefined || payload === null) return { kind: "given" };
  if (!isObject(payload) || typeof payload.prompt !== "string")
    return { kind: "refused", reason: "the decision modifies the prompt but contains no prompt" };
  if (request > 1)
    return { kind: "refused", reason: "tool results cannot be modified on their way to the model" };
  turn.replaceWords(payload.prompt);
  return { kind: "given" };
}

/** What the model is shown that it was not shown before: results of tools, context, and what a person sent meanwhile. */
function lastResults(turn: Turn): string {
  if (turn.declaring) return turn.declaring.news;
  const { messages } = turn;
  const answered = messages.findLastIndex(({ role }) => role === "assistant");
  return messages
    .slice(answered + 1)
    .flatMap((message) =>
      message.role === "tool" ? message.results.map(({ text }) => text) : [partsText(message.parts)],
    )
    .join("\n");
}

/** Whether a long turn may continue: the supervisor decides, or a person. */
export async function mayContinue(turn: Turn, request: number): Promise<boolean> {
  const { limits, emit, sessionId } = turn.setting;
  const made = request - 1;
  if (made === 0 || made % limits.confirmEvery !== 0) return true;
  const message = `This turn has made ${made} requests to the model. Continue?`;
  const decision = await turn.ask("confirmation", {
    session_id: sessionId,
    confirmation_type: "cost_confirm",
    message,
    options: ["go on", "stop"],
  });
  if (decision.decision === "approve") return true;
  const refusal = decision.decision === "reject" ? decision.reason : await confirmByPerson(turn, message);
  if (refusal === undefined) return true;
  await emit({ type: "notice", severity: "warning", title: "The turn was ended", description: refusal });
  return false;
}

/** Asks a person by a permission request; returns the reason of a refusal. */
async function confirmByPerson(turn: Turn, message: string): Promise<string | undefined> {
  const { askPermission, emit, newId } = turn.setting;
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
  const permission = await askPermission(call, turn.signal);
  const status = permission.kind === "given" ? "completed" : "failed";
  await emit({ type: "call_update", toolCallId, status });
  return permission.kind === "given" ? undefined : permission.reason;
}
