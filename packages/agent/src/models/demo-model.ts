import { type Clock, sleep, systemClock } from "@reins/kit";
import { detectIntent, type IntentName } from "../advisor/intent.ts";
import type { Message, ToolResult } from "../history/entry.ts";
import {
  board,
  count,
  create,
  delegate,
  edit,
  explore,
  introduce,
  mail,
  read,
  remember,
  remove,
  run,
  type Scene,
  saying,
  search,
  test,
  WHO,
} from "./demo-scenes.ts";
import type { Model, ModelEvent, ModelInfo, ModelRequest } from "./model.ts";
import { tokensIn } from "./tokens.ts";

const SCENES: Partial<Record<IntentName, Scene>> = {
  explore,
  read,
  explain: read,
  search,
  create,
  edit,
  delete: remove,
  test,
  run,
  remember,
  message: mail,
  board,
  delegate,
};

/** The longest prompt that the patterns are made for. */
const LOOKED_AT = 4_000;
/** Splits text into pieces of a few words, as a model streams. */
const PIECE = /(?:\S+\s*){1,6}|\s+/g;

/**
 * A deterministic script in place of a model. It reads only the last prompt and the results since, and needs neither
 * key nor network.
 */
export class DemoModel implements Model {
  readonly info: ModelInfo = {
    id: "demo",
    contextTokens: 32_000,
    maxOutputTokens: 4_000,
    images: false,
    summarises: false,
    price: { input: 0, output: 0 },
  };
  readonly #clock: Pick<Clock, "after">;

  constructor(clock: Pick<Clock, "after"> = systemClock) {
    this.#clock = clock;
  }

  async *stream({ system, messages, tools }: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent> {
    const { words, results, context, isFirst } = situationOf(messages);
    const step = sceneFor(words)(words, results, context);
    const isOffered = step.call === undefined || tools.some(({ name }) => name === step.call?.name);
    const {
      say: said,
      call,
      pace,
    } = isOffered ? step : saying(`For that I would need ${step.call?.name}, which I may not use here.`);
    const isLesson = isFirst && results.length > 0 && call === undefined;
    const say = isLesson ? `${said}\n\n${WHO}` : said;
    for (const piece of pace === undefined ? (say.match(PIECE) ?? []) : say.split(/(?<=\s)/)) {
      signal.throwIfAborted();
      yield { type: "text", text: piece };
      if (pace !== undefined) await sleep(pace, this.#clock, signal);
    }
    const given = JSON.stringify(call?.arguments ?? {});
    if (call) yield { type: "call", id: `demo_${messages.length}`, name: call.name, arguments: given };
    const inputTokens = tokensIn(system) + tokensIn(JSON.stringify(messages));
    yield {
      type: "usage",
      usage: { inputTokens, outputTokens: tokensIn(say) + (call ? tokensIn(given) : 0) },
    };
    yield { type: "end", stop: call ? "tool_use" : "end" };
  }
}

function sceneFor(words: string): Scene {
  if (/\bcount (?:up )?to \d+/i.test(words)) return count;
  return SCENES[detectIntent(words).intent] ?? introduce;
}

/** The last prompt in the user's words, and the results since. */
function situationOf(messages: readonly Message[]): {
  readonly words: string;
  readonly results: readonly ToolResult[];
  /** What the harness added to the prompt. */
  readonly context: string;
  /** Whether it is the first prompt of the conversation. */
  readonly isFirst: boolean;
} {
  const last = messages.findLastIndex(isPrompt);
  const prompt = messages[last];
  const parts = prompt?.role === "user" ? prompt.parts : [];
  const words = parts
    .flatMap((part) => (part.type === "text" && !part.context ? [part.text] : []))
    .join("\n")
    .slice(0, LOOKED_AT);
  const results = messages
    .slice(last + 1)
    .flatMap((message) => (message.role === "tool" ? message.results : []));
  const context = messages
    .slice(last)
    .flatMap((message) => (message.role === "user" ? message.parts : []))
    .flatMap((part) => (part.type === "text" && part.context ? [part.text] : []))
    .join("\n");
  return { words, results, context, isFirst: messages.findIndex(isPrompt) === last };
}

function isPrompt(message: Message): boolean {
  return message.role === "user" && message.parts.some((part) => part.type === "text" && !part.context);
}
