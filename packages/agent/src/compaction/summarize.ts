import { type HistoryEntry, type TokenUsage, transcriptOf } from "../history/entry.ts";
import { ModelError } from "../models/model.ts";
import { tokensIn, totalOf } from "../models/tokens.ts";
import { IdleTimeout } from "../turn/ask-model.ts";
import type { Turn } from "../turn/turn.ts";

const SYSTEM =
  "You put a conversation between a person and an agent into a summary that the agent will go on from. Say what the person wants, what was decided and why, what was found out, what is done and what is left. Keep names, paths, commands and numbers exact. Write nothing else.";

/** Tokens have about four characters; half of the context is reserved for output and error of estimate. */
const CHARACTERS_PER_TOKEN = 2;
const MAX_SUMMARY = 8_000;

/** A summary by the model; `undefined` when it cannot summarise, fails or is not permitted. */
export async function summarize(
  turn: Turn,
  covered: readonly HistoryEntry[],
  digest: string,
): Promise<string | undefined> {
  const { model, sessionId } = turn.setting;
  if (!model.info.summarises) return undefined;
  const text = `${conversationIn(covered, model.info.contextTokens * CHARACTERS_PER_TOKEN)}\n\n${digest}`;
  const decision = await turn.ask("pre_prompt", {
    session_id: sessionId,
    prompt: text,
    message_count: 1,
    model: model.info.id,
    request: 0,
    tokens_used: totalOf(turn.usage),
    purpose: "compaction",
  });
  if (decision.decision !== "allow") return undefined;
  try {
    return await answerTo(turn, text);
  } catch (error) {
    turn.signal.throwIfAborted();
    if (!(error instanceof ModelError)) throw error;
    turn.setting.onFault(error);
    return undefined;
  }
}

async function answerTo(turn: Turn, text: string): Promise<string | undefined> {
  const { model, limits } = turn.setting;
  const timeout = new IdleTimeout(limits.quietMs, `${model.info.id} sent nothing for too long`);
  let output = "";
  let usage: TokenUsage | undefined;
  const request = {
    system: SYSTEM,
    messages: [{ role: "user" as const, parts: [{ type: "text" as const, text }] }],
    tools: [],
    thoughtLevel: "default" as const,
  };
  try {
    timeout.restart();
    for await (const event of model.stream(request, AbortSignal.any([turn.signal, timeout.signal]))) {
      timeout.restart();
      if (event.type === "text") output += event.text;
      if (event.type === "usage") usage = event.usage;
      if (output.length > MAX_SUMMARY) break;
    }
  } finally {
    timeout.cancel();
    if (usage || output !== "")
      await turn.charge(usage ?? { inputTokens: tokensIn(text), outputTokens: tokensIn(output) });
  }
  return output.trim() === "" ? undefined : output.slice(0, MAX_SUMMARY).trim();
}

/** A conversation as text; the middle is left out when it is too long. */
function conversationIn(entries: readonly HistoryEntry[], characters: number): string {
  const text = transcriptOf(entries)
    .map((message) =>
      message.role === "tool"
        ? message.results.map(({ name, text: output }) => `[${name}] ${output}`).join("\n")
        : `${message.role}: ${message.parts.map(lineOf).join("\n")}`,
    )
    .join("\n\n");
  if (text.length <= characters) return text;
  const half = Math.floor(characters / 2);
  return `${text.slice(0, half)}\n[…]\n${text.slice(-half)}`;
}

function lineOf(part: {
  readonly type: string;
  readonly text?: string;
  readonly name?: string;
  readonly arguments?: string;
}): string {
  if (part.type === "call") return `calls ${part.name} ${part.arguments}`;
  return part.type === "text" ? (part.text ?? "") : `[${part.type}]`;
}
