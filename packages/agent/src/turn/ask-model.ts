import { exponentialBackoff } from "@reins/kit";
import type { Message, TokenUsage } from "../history/entry.ts";
import { ModelError, type ModelEvent, type ModelRequest } from "../models/model.ts";
import { totalOf } from "../models/tokens.ts";
import { type Answer, Draft, shortId } from "./draft.ts";
import { contextTokens, showSearch, type Turn } from "./turn.ts";

const CONTINUE =
  "[The connection broke off here. Go on exactly where your last message ends, without repeating any of it.]";

/**
 * Requests an answer from the model and streams it to clients. Retries temporary failures and continues an answer that
 * was cut off; throws a {@link ModelError} when there is none.
 */
export async function askModel(turn: Turn): Promise<Answer> {
  const { limits, newId } = turn.setting;
  const { model } = turn;
  const draft = new Draft(newId(), model.info.id, newId, callIds(turn));
  turn.draft = draft;
  let release = noop;
  for (let attempt = 1; ; attempt += 1) {
    const failure = await readAnswer(turn, draft)
      .catch(async (error: unknown) => {
        // The part that arrived has to be charged.
        if (draft.tokens > 0) await turn.charge(usageOf(turn, draft));
        if (error instanceof ModelError && error.isRetryable && attempt <= limits.retries) return error;
        throw error;
      })
      .finally(release);
    if (!(failure instanceof ModelError)) return failure;
    // A declaration is one whole message: what is left of one that broke off is not continued.
    if (turn.declaring) draft.discardAll();
    else draft.discardUnfinished();
    release = await waitAfter(turn, failure, attempt);
  }
}

function noop(): void {}

/** The ids of the calls in a conversation. */
function callIds({ messages }: Turn): readonly string[] {
  const parts = messages.flatMap((message) => (message.role === "assistant" ? message.parts : []));
  return parts.flatMap((part) => (part.type === "call" ? [part.id] : []));
}

async function readAnswer(turn: Turn, draft: Draft): Promise<Answer> {
  const { limits, emit } = turn.setting;
  const { model } = turn;
  const timeout = new IdleTimeout(limits.quietMs, `${model.info.id} sent nothing for too long`);
  try {
    const signal = AbortSignal.any([turn.signal, timeout.signal]);
    timeout.restart();
    for await (const event of model.stream(requestFor(turn, draft), signal)) {
      timeout.cancel();
      if (event.type === "end") return draft.finish(event.stop, usageOf(turn, draft));
      draft.add(event);
      // What declares is for the runtime; what is for people is shown when it has been read.
      if (event.type === "text" && !turn.declaring)
        await emit({ type: "text", messageId: draft.id, text: event.text });
      if (event.type === "search") await showFound(turn, event);
      if (event.type === "thinking") await emit({ type: "thought", messageId: draft.id, text: event.text });
      if (draft.length > limits.answerCharacters) return await cutShort(turn, draft);
      timeout.restart();
    }
    turn.signal.throwIfAborted();
    throw new ModelError("cut_off", `the answer of ${model.info.id} was cut off`);
  } finally {
    timeout.cancel();
  }
}

/** Shows a search that the provider did. */
async function showFound(
  turn: Turn,
  { query, found }: Extract<ModelEvent, { type: "search" }>,
): Promise<void> {
  const toolUseId = turn.setting.newId();
  await showSearch(turn, { kind: "query", toolUseId, query });
  await showSearch(turn, { kind: "result", toolUseId, promoted: found, evicted: [], skipped: [] });
}

/** Ends an answer that exceeds the limit. Its calls are not made. */
async function cutShort(turn: Turn, draft: Draft): Promise<Answer> {
  const { limits, emit } = turn.setting;
  await emit({
    type: "notice",
    severity: "warning",
    title: "The answer was cut short",
    description: `It became longer than ${limits.answerCharacters} characters.`,
  });
  const usage = usageOf(turn, draft);
  draft.discardUnfinished();
  return { ...draft.finish("max_tokens", usage), isOverlong: true };
}

/** The usage of a request: as reported, or estimated when the model did not report it. */
function usageOf(turn: Turn, { usage, tokens }: Draft): TokenUsage {
  return totalOf(usage) > 0 ? usage : { inputTokens: contextTokens(turn), outputTokens: tokens };
}

function requestFor(turn: Turn, draft: Draft): ModelRequest {
  const { model, system, tools, thoughtLevel } = turn;
  const toolSearch = turn.declaring ? undefined : turn.setting.deferred?.native;
  const unfinished: Message[] =
    draft.text === ""
      ? []
      : [
          { role: "assistant", model: model.info.id, parts: [{ type: "text", text: draft.text }] },
          { role: "user", parts: [{ type: "text", text: CONTINUE, context: true }] },
        ];
  const all = [...turn.messages, ...unfinished];
  const messages = acceptable(model.info.images ? all : all.map(inText), model.info.id);
  return { system, messages, tools, thoughtLevel, toolSearch };
}

/** The names of tools that all providers accept. */
const TOOL_NAME = /^[\w-]{1,64}$/;

/**
 * A conversation with calls as all providers accept them: a name that a model made up is refused by many when it comes
 * back, and so is the id that another provider gave a call. Those of the model itself are as it gave them.
 */
function acceptable(messages: readonly Message[], model: string): readonly Message[] {
  const ids = new Map<string, string>();
  const named = (name: string) =>
    TOOL_NAME.test(name) ? name : name.replace(/[^\w-]/g, "_").slice(0, 64) || "_";
  return messages.map((message) => {
    if (message.role === "tool") {
      const results = message.results.map((result) => ({
        ...result,
        ...{ call: ids.get(result.call) ?? result.call, name: named(result.name) },
      }));
      return { ...message, results };
    }
    if (message.role === "user") return message;
    const parts = message.parts.map((part) => {
      if (part.type !== "call") return part;
      if (message.model !== model) ids.set(part.id, shortId(part.id));
      return { ...part, id: ids.get(part.id) ?? part.id, name: named(part.name) };
    });
    return { ...message, parts };
  });
}

/** A message for a model that sees no images: its server would refuse every request of a conversation with one. */
function inText(message: Message): Message {
  const unseen = (mimeType: string) => `[a file of the type ${mimeType}, which this model cannot see]`;
  switch (message.role) {
    case "user": {
      const parts = message.parts.map((part) =>
        part.type === "image" ? { type: "text" as const, text: unseen(part.mimeType), context: true } : part,
      );
      return { ...message, parts };
    }
    case "tool": {
      const results = message.results.map(({ media = [], ...result }) => {
        const text = [result.text, ...media.map(({ mimeType }) => unseen(mimeType))].join("\n");
        return { ...result, text };
      });
      return { ...message, results };
    }
    case "assistant":
      return message;
  }
}

/** Waits until a retry makes sense. The result releases the model's queue. */
async function waitAfter(turn: Turn, error: ModelError, attempt: number): Promise<() => void> {
  const { limits, random, emit, queue } = turn.setting;
  const { model } = turn;
  const backoff = { firstMs: limits.backoffMs, mostMs: Number.POSITIVE_INFINITY };
  const wanted = error.retryAfterMs ?? exponentialBackoff(backoff, attempt, random());
  const notice = {
    type: "notice",
    severity: "warning",
    title: "The model did not answer",
    description: error.message,
  } as const;
  if (error.code !== "rate_limited") {
    if (wanted > limits.longestWaitMs) throw error;
    await emit(notice);
    await turn.wait(wanted);
    return noop;
  }
  const decision = await turn.ask("rate_limit", {
    session_id: turn.setting.sessionId,
    limit_type: error.limit === "tokens" ? "llm_token_limit" : "llm_request_limit",
    retry_after_ms: wanted,
    current_usage: `attempt ${attempt} of ${limits.retries + 1} in this request`,
  });
  if (decision.decision === "skip")
    throw new ModelError("rate_limited", `${error.message}; not tried again: ${decision.reason}`, {
      cause: error,
    });
  await emit(notice);
  if (decision.decision === "retry") {
    await turn.wait(decision.retry_after_ms);
    return noop;
  }
  const release = await queue.acquire(model.info.id, turn.signal);
  try {
    await turn.wait(wanted);
    return release;
  } catch (aborted) {
    release();
    throw aborted;
  }
}

/** Aborts its signal when a model sends nothing for too long. */
export class IdleTimeout {
  readonly signal: AbortSignal;
  readonly #limitMs: number;
  readonly #controller = new AbortController();
  readonly #reason: string;
  #timer: NodeJS.Timeout | undefined;

  constructor(limitMs: number, reason: string) {
    this.signal = this.#controller.signal;
    this.#limitMs = limitMs;
    this.#reason = reason;
  }

  restart(): void {
    this.cancel();
    this.#timer = setTimeout(
      () => this.#controller.abort(new ModelError("unavailable", this.#reason)),
      this.#limitMs,
    );
  }

  cancel(): void {
    clearTimeout(this.#timer);
  }
}
