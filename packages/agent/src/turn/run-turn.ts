import { compact, compactIfFull, transcriptRoom } from "../compaction/compact.ts";
import { type AssistantPart, type CallPart, type HistoryEntry, partsText } from "../history/entry.ts";
import { ModelError } from "../models/model.ts";
import { totalOf } from "../models/tokens.ts";
import type { DeclaringMessage, ProtocolService } from "../tools/host-services.ts";
import { askModel } from "./ask-model.ts";
import type { Answer } from "./draft.ts";
import { type Brief, gather, instructionsOfUsed } from "./gather.ts";
import { performCalls, showPlan } from "./perform-calls.ts";
import { mayContinue, requestPromptPermission } from "./permission.ts";
import { briefText } from "./prompt-text.ts";
import type { DeclaringView, Turn } from "./turn.ts";
import type { StopReason, TurnEnd } from "./turn-event.ts";
import { useSkills } from "./use-skills.ts";

/**
 * Runs one turn: find out what is wanted, ask the model, perform its calls and ask again, until it is done or may not
 * continue. It never throws: a failure is an end like any other, after which the session can be used.
 */
export async function runTurn(turn: Turn): Promise<TurnEnd> {
  try {
    turn.setStatus("created", { prompt: turn.words.slice(0, 2_000) });
    const brief = await gather(turn);
    if ("refused" in brief) return await refuse(turn, brief.refused);
    if (brief.modifiedTask !== undefined) turn.replaceWords(brief.modifiedTask);
    const { protocol } = turn.setting;
    return await (protocol ? declareUntilOver(turn, protocol, brief) : callUntilDone(turn, brief));
  } catch (error) {
    await keepUnfinished(turn).catch(turn.setting.onFault);
    if (turn.signal.aborted) return stopped("cancelled");
    return { kind: "failed", error: error instanceof Error ? error : new Error(String(error)) };
  }
}

/** Asks the model and performs the tools that it calls. */
async function callUntilDone(turn: Turn, brief: Brief): Promise<TurnEnd> {
  const { limits, keep } = turn.setting;
  let continuations = 0;
  let isBeginning = true;
  for (let request = 1; request <= limits.requests; request += 1) {
    if (!(await mayContinue(turn, request))) return stopped("max_turn_requests");
    if (!isBeginning) await keepSteering(turn);
    const permission = await requestPromptPermission(turn, request);
    if (permission.kind === "refused") return await refuse(turn, permission.reason);
    turn.request = request;
    if (isBeginning) await begin(turn, brief);
    else if (turn.setting.skills?.isReassessed) await keepContext(turn, await useSkills(turn, request));
    isBeginning = false;
    await compactIfFull(turn);
    const answer = await answerOf(turn);
    // The next model is another request, with a verdict of its own.
    if (!answer) continue;
    await chargeAnswer(turn, answer);
    await keepAnswer(turn, answer);
    const calls = callsIn(answer);
    // A model that stops for calls and makes none would do so again.
    switch (answer.stop === "tool_use" && calls.length === 0 ? "end" : answer.stop) {
      case "end":
        // What was sent meanwhile is answered in the same turn, where it may ask the model once more.
        if (request < limits.requests && (await keepSteering(turn))) break;
        return stopped("end_turn");
      case "max_tokens":
        if (answer.isOverlong || continuations === CONTINUATIONS) return stopped("max_tokens");
        continuations += 1;
        await keepContext(turn, CUT_OFF);
        break;
      case "refusal":
        return await refuse(turn, MODEL_REFUSED);
      case "tool_use":
        await keep({
          kind: "results",
          ...turn.mark,
          results: [...(await performCalls(turn, calls))],
        });
        await keepContext(turn, await instructionsOfUsed(turn));
        break;
      case "context_exceeded":
        await compact(turn);
        break;
      case "paused":
        break;
    }
    turn.signal.throwIfAborted();
  }
  return stopped("max_turn_requests");
}

/** How often a turn goes on after an answer that was as long as the model may make it. */
const CONTINUATIONS = 3;
const CUT_OFF =
  "[Your last message reached its length limit, and a call that it was making was not made. Go on exactly where its text ends, without repeating any of it; write a long file in several parts.]";

const MODEL_REFUSED = "the model refused to continue";

/** Asks the model what it wants done, and the runtime to do it, until a message declares nothing more. */
async function declareUntilOver(turn: Turn, protocol: ProtocolService, brief: Brief): Promise<TurnEnd> {
  const { limits, sessionId, emit } = turn.setting;
  let view: ViewOptions = { share: 1, isAgain: false };
  for (let request = 1; request <= limits.requests; request += 1) {
    if (!(await mayContinue(turn, request))) return stopped("max_turn_requests");
    if (request > 1) turn.declaring = await declaringView(turn, protocol, brief, view);
    const permission = await requestPromptPermission(turn, request);
    if (permission.kind === "refused") return await refuse(turn, permission.reason);
    turn.request = request;
    if (request === 1 || turn.setting.skills?.isReassessed)
      turn.instructions = await useSkills(turn, request);
    if (request === 1) {
      await beginDeclaring(turn, protocol);
      turn.declaring = await declaringView(turn, protocol, brief, view);
    }
    const answer = await askModel(turn).catch((error: unknown) => tooLong(error, view));
    if (answer) await chargeAnswer(turn, answer);
    if (!answer || answer.stop === "context_exceeded" || answer.stop === "paused") {
      const isPaused = answer?.stop === "paused";
      if (!isPaused && view.share <= LEAST_SHARE)
        throw new ModelError("context_exceeded", "the transcript is too long for the model");
      view = { share: isPaused ? view.share : view.share / 2, isAgain: true };
      continue;
    }
    view = { ...view, isAgain: false };
    if (answer.stop === "refusal") return await refuse(turn, MODEL_REFUSED);
    const isComplete = answer.stop !== "max_tokens";
    const message = { text: textIn(answer), calls: callsIn(answer), isComplete };
    const declared = await protocol.declare(sessionId, message, turn.signal).catch(async (error: unknown) => {
      await keepDeclaration(turn, message);
      throw error;
    });
    if (declared.kind === "over") {
      if (declared.text !== "") await emit({ type: "text", messageId: answer.id, text: declared.text });
      await keepText(turn, declared.text);
      return stopped(isComplete ? "end_turn" : "max_tokens");
    }
    await keepDeclaration(turn, message);
    turn.signal.throwIfAborted();
  }
  return stopped("max_turn_requests");
}

function stopped(reason: StopReason): TurnEnd {
  return { kind: "stopped", reason };
}

/** Records the prompt and the context that accompanies it. */
async function begin(turn: Turn, brief: Brief): Promise<void> {
  const text = briefText(brief, turn.context);
  const instructions = await useSkills(turn, 1);
  await turn.setting.keep(
    { kind: "user", ...turn.mark, parts: [...turn.prompt] },
    ...contextEntries(turn, text),
    ...contextEntries(turn, instructions),
  );
  const steps = Array.isArray(brief.template)
    ? brief.template.filter((step) => typeof step === "string")
    : [];
  if (steps.length > 0)
    await showPlan(
      turn,
      steps.map((content) => ({ content, status: "pending", priority: "medium" })),
    );
  turn.setStatus("executing");
}

/** Records the prompts that were sent into the turn; returns whether there are any. */
async function keepSteering(turn: Turn): Promise<boolean> {
  const { takeSteering, keep } = turn.setting;
  const prompts = takeSteering();
  if (prompts.length === 0) return false;
  await keep(...prompts.map((parts): HistoryEntry => ({ kind: "user", ...turn.mark, parts: [...parts] })));
  return true;
}

/** Records context that accompanies the prompt. */
async function keepContext(turn: Turn, text: string): Promise<void> {
  const entries = contextEntries(turn, text);
  if (entries.length > 0) await turn.setting.keep(...entries);
}

/** The entry of a context, if there is any. */
function contextEntries(turn: Turn, text: string): readonly HistoryEntry[] {
  if (text === "") return [];
  return [{ kind: "user", ...turn.mark, parts: [{ type: "text", text, context: true }] }];
}

/** Withdraws a blocked prompt from the conversation and shows the reason. */
async function refuse(turn: Turn, reason: string): Promise<TurnEnd> {
  const { keep, emit, entries, newId } = turn.setting;
  if (!entries.some((entry) => entry.turn === turn.id && entry.kind === "user"))
    await keep({ kind: "user", ...turn.mark, parts: [...turn.prompt] });
  await keep({ kind: "withdrawn", ...turn.mark });
  await emit({ type: "text", messageId: newId(), text: `I may not continue with this: ${reason}` });
  return { kind: "stopped", reason: "refusal", note: reason };
}

/**
 * Requests an answer; a conversation that turns out to be too long is compacted once. There is none where the model
 * cannot be used now and another one is to be asked instead.
 */
async function answerOf(turn: Turn): Promise<Answer | undefined> {
  try {
    return await askModel(turn);
  } catch (error) {
    if (await fallBack(turn, error)) return undefined;
    const isTooLong = error instanceof ModelError && error.code === "context_exceeded";
    if (!isTooLong || !(await compact(turn))) throw error;
    return askModel(turn);
  }
}

/** The failures after which another model is asked. */
const FAILOVER: ReadonlySet<string> = new Set(["rate_limited", "overloaded", "unavailable", "unpaid"]);

/** Chooses the next model for the rest of the turn; not where clients have seen a part of an answer. */
async function fallBack(turn: Turn, error: unknown): Promise<boolean> {
  const { fallbacks = [], deferred, emit } = turn.setting;
  const next = fallbacks[fallbacks.indexOf(turn.model) + 1];
  // Tools that a provider searches for are in no prompt of another one.
  const isPossible =
    error instanceof ModelError && FAILOVER.has(error.code) && deferred?.native === undefined;
  if (!next || !isPossible || turn.draft?.text !== "" || turn.signal.aborted) return false;
  turn.model = next;
  turn.draft = undefined;
  const title = `${next.info.id} is asked instead`;
  await emit({ type: "notice", severity: "warning", title, description: error.message });
  return true;
}

async function keepAnswer(turn: Turn, answer: Answer): Promise<void> {
  const { keep } = turn.setting;
  const { model } = turn;
  // Calls are made, and kept, only when the model stopped for them: those of an answer that was cut short are dropped.
  const parts =
    answer.stop === "tool_use" ? answer.parts : answer.parts.filter(({ type }) => type !== "call");
  if (parts.length > 0)
    await keep({ kind: "assistant", ...turn.mark, id: answer.id, model: model.info.id, parts: [...parts] });
  turn.draft = undefined;
}

/** Charges an answer, and shows what it used of the context. */
async function chargeAnswer(turn: Turn, answer: Answer): Promise<void> {
  const { emit } = turn.setting;
  const { model } = turn;
  await turn.charge(answer.usage);
  const { cost } = turn;
  const used = totalOf(answer.usage);
  await emit({ type: "usage", used, size: model.info.contextTokens, ...(cost !== undefined && { cost }) });
}

/** Keeps the part of an unfinished answer that the user has seen. */
async function keepUnfinished(turn: Turn): Promise<void> {
  const { keep } = turn.setting;
  const { model } = turn;
  const { draft } = turn;
  if (!draft || draft.text === "" || turn.declaring) return;
  const parts: AssistantPart[] = [{ type: "text", text: draft.text }];
  await keep({ kind: "assistant", ...turn.mark, id: draft.id, model: model.info.id, parts });
}

function textIn({ parts }: Answer): string {
  return parts.flatMap((part) => (part.type === "text" ? [part.text] : [])).join("");
}

function callsIn({ parts }: Answer): readonly CallPart[] {
  return parts.filter((part) => part.type === "call");
}

/** The first characters of the turn's last message. */
export function summaryOf(turn: Turn): string {
  const last = turn.setting.entries.findLast((entry) => entry.turn === turn.id && entry.kind === "assistant");
  return last?.kind === "assistant" ? partsText(last.parts).slice(0, 200) : "";
}

/** Adds the prompt to the transcript of the runtime. */
async function beginDeclaring(turn: Turn, protocol: ProtocolService): Promise<void> {
  await turn.setting.keep({ kind: "user", ...turn.mark, parts: [...turn.prompt] });
  await protocol.begin(turn.setting.sessionId, partsText(turn.prompt));
  turn.setStatus("executing");
}

/** How much a model is shown of what there is room for, and whether that was shown to it before. */
interface ViewOptions {
  readonly share: number;
  readonly isAgain: boolean;
}

/** The smallest share: a model that refuses even that has less room than is known of it. */
const LEAST_SHARE = 1 / 8;

/** Nothing, where a model refused what it was shown as too long and can be shown less. */
function tooLong(error: unknown, { share }: ViewOptions): undefined {
  if (error instanceof ModelError && error.code === "context_exceeded" && share > LEAST_SHARE) return;
  throw error;
}

/** Reads what the model is shown next; what is new of it goes into the history, for turns in other modes. */
async function declaringView(
  turn: Turn,
  protocol: ProtocolService,
  brief: Brief,
  { share, isAgain }: ViewOptions,
): Promise<DeclaringView> {
  const { sessionId, system: own, keep } = turn.setting;
  const { tool, instructions } = await protocol.describe(sessionId);
  // Its plans are graphs, which the runtime shows.
  const context = briefText({ ...brief, strategy: "none" }, "");
  const system = [own, instructions, turn.instructions, context].filter((part) => part !== "").join("\n\n");
  const images = turn.prompt.filter(({ type }) => type === "image");
  const beside = JSON.stringify(tool) + system;
  const most = Math.floor(share * transcriptRoom(turn.model.info, beside, [{ role: "user", parts: images }]));
  const text = await protocol.transcript(sessionId, { most });
  const news = turn.declaring ? await protocol.transcript(sessionId, { unseen: true, most }) : turn.words;
  if (turn.declaring && !isAgain)
    await keep({ kind: "user", ...turn.mark, parts: [{ type: "text", text: news, context: true }] });
  return {
    system,
    messages: [{ role: "user", parts: [{ type: "text", text }, ...images] }],
    tools: [tool],
    news,
  };
}

/** Keeps a message that declared something in the form of the protocol, without the provider's own of calls. */
async function keepDeclaration(turn: Turn, { text, calls }: DeclaringMessage): Promise<void> {
  const carrier = turn.declaring?.tools[0]?.name;
  const parts = [
    text,
    ...calls.map((call) =>
      call.name === carrier
        ? fenced("json agent-protocol", call.arguments)
        : fenced("shell", `tool ${call.name} <<'JSON'\n${call.arguments}\nJSON`),
    ),
  ];
  await keepText(turn, parts.filter((part) => part.trim() !== "").join("\n\n"));
}

/** Keeps a text as the answer in progress. */
async function keepText(turn: Turn, text: string): Promise<void> {
  const { keep } = turn.setting;
  const { model } = turn;
  const { draft } = turn;
  turn.draft = undefined;
  if (!draft || text === "") return;
  await keep({
    kind: "assistant",
    ...turn.mark,
    id: draft.id,
    model: model.info.id,
    parts: [{ type: "text", text }],
  });
}

function fenced(info: string, content: string): string {
  const longest = Math.max(2, ...[...content.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}${info}\n${content}\n${fence}`;
}
