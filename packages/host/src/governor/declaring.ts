import { chunkText, isObject, type JsonObject, readResult, readUpdate } from "@reins/acp";
import type { ProtocolService } from "@reins/agent";
import type { GovernedSession, Turn } from "./governed-session.ts";
import { defusedWhole } from "./mentions.ts";
import { showUpdate } from "./updates.ts";

/** How often an agent is prompted in one turn. */
const MAX_PROMPTS = 100;
/** The longest message that is held back, in characters; a longer one is text. */
const MAX_HELD = 4 * 1024 * 1024;

/** Holds back the message of an agent until it is complete, and either declares something or is for people. */
export class HeldMessage {
  #updates: JsonObject[] = [];
  #text = "";
  #messageId: string | undefined;
  #isTooLong = false;

  /** What the message says so far. */
  get text(): string {
    return this.#text;
  }

  /** Takes an update of the agent, and returns what can be shown now. */
  take(update: JsonObject): readonly JsonObject[] {
    const kind = update.sessionUpdate;
    // What an agent says before it calls a tool is not the end of its turn.
    if (kind === "tool_call") return [...this.release(), update];
    const text = kind === "agent_message_chunk" ? chunkText(update) : undefined;
    if (text === undefined || this.#isTooLong) return [update];
    const { messageId = this.#messageId } = readUpdate("agent_message_chunk", update);
    const earlier = messageId === this.#messageId ? [] : this.release();
    this.#messageId = messageId;
    this.#updates.push(update);
    this.#text += text;
    this.#isTooLong = this.#text.length > MAX_HELD;
    return this.#isTooLong ? [...earlier, ...this.release()] : earlier;
  }

  /** Returns what was held back; the next message begins. */
  release(): readonly JsonObject[] {
    const updates = this.#updates;
    this.#updates = [];
    this.#text = "";
    return updates;
  }
}

/** An agent that declares, in one turn. */
export interface DeclaringTurn {
  readonly session: GovernedSession;
  readonly turn: Turn;
  readonly protocol: ProtocolService;
  /** Prompts the agent with what came of its declaration, if that is allowed; `answer` is its last. */
  readonly prompt: (text: string, answer: unknown) => Promise<unknown>;
}

/** Begins a turn of an agent that declares; returns what it was not shown of earlier ones, for its prompt. */
export async function startDeclaring(
  { session, turn, protocol }: Omit<DeclaringTurn, "prompt">,
  words: string,
): Promise<readonly JsonObject[]> {
  const { id } = session;
  turn.held = new HeldMessage();
  const unseen = await protocol.transcript(id, { unseen: true });
  await protocol.begin(id, words);
  return unseen === "" ? [] : [observation(session, unseen)];
}

/**
 * Has the runtime carry out what an agent declared with its first answer, and prompts it with what came of that, until
 * it declares nothing more: the client sees one turn.
 */
export async function declareUntilOver(declaring: DeclaringTurn, first: unknown): Promise<unknown> {
  const { session, turn, protocol, prompt } = declaring;
  const { id } = session;
  let answer = first;
  for (let prompts = 1; ; prompts += 1) {
    if (turn.isCancelled || readResult("session/prompt", answer).stopReason !== "end_turn") return answer;
    const message = { text: turn.held?.text ?? "", calls: [], isComplete: true };
    const declared = await protocol.declare(id, message, turn.signal);
    const held = turn.held?.release() ?? [];
    if (declared.kind === "over") {
      // Without a declaration its words are shown as they came.
      const shown = declared.text === message.text ? held : spoken(declared.text);
      for (const update of shown) await showUpdate(session, update);
      return answer;
    }
    // What came of it is shown with the next prompt.
    if (prompts === MAX_PROMPTS) return { ...Object(answer), stopReason: "max_turn_requests" };
    const unseen = await protocol.transcript(id, { unseen: true });
    answer = withUsage(await prompt(unseen, answer), answer);
  }
}

/** A text of the runtime as a block of a prompt; what it quotes names no files to the agent. */
export function observation({ context: { entry, profile } }: GovernedSession, text: string): JsonObject {
  const expands = profile.interpretsPrompts && entry.prompts.mentions === "expands";
  return {
    type: "text",
    text: expands ? defusedWhole(text) : text,
    annotations: { audience: ["assistant"] },
  };
}

function spoken(text: string): readonly JsonObject[] {
  return text === "" ? [] : [{ sessionUpdate: "agent_message_chunk", content: { type: "text", text } }];
}

/** An answer with what all answers of its turn used. */
function withUsage(answer: unknown, earlier: unknown): unknown {
  if (!isObject(answer) || !isObject(earlier) || !isObject(earlier.usage)) return answer;
  const usage: Record<string, unknown> = { ...earlier.usage };
  for (const [name, used] of Object.entries(isObject(answer.usage) ? answer.usage : {})) {
    const before = usage[name];
    usage[name] = typeof used === "number" && typeof before === "number" ? before + used : used;
  }
  return { ...answer, usage };
}
