import type { Conversation, DialectName } from "./conversation.ts";
import type { CallArguments } from "./script.ts";

/** A part as it goes out: calls in the agent's words, with an id. */
export type SpokenPart =
  | { readonly kind: "text" | "thinking"; readonly pieces: readonly string[] }
  | {
      readonly kind: "call";
      readonly id: string;
      readonly tool: string;
      readonly namespace?: string;
      readonly arguments: CallArguments;
    };

/** Why an answer ended. */
export type StopEnding = "end" | "length";

/** Speaks one streamed answer. Every text it returns is a complete piece of the body. */
interface Voice {
  begin(): readonly string[];
  part(part: SpokenPart): readonly string[];
  /** The beginning of a call that will never be completed. */
  half(part: SpokenPart): readonly string[];
  end(ending: StopEnding): readonly string[];
}

/** One wire protocol between an agent and a model. */
export interface Dialect {
  readonly name: DialectName;
  /** Whether a request to this path asks for an answer. */
  answers(path: string): boolean;
  /** What else this protocol is asked for: lists of models, counts of tokens. */
  aside(path: string): unknown;
  read(path: string, body: unknown): Conversation;
  voice(conversation: Conversation, id: string): Voice;
  /** The whole answer in one document. */
  whole(conversation: Conversation, id: string, parts: readonly SpokenPart[], ending: StopEnding): unknown;
  error(status: number, message: string): unknown;
}

/** One event of a stream. */
export function serverEvent(data: unknown, name?: string): string {
  const text = typeof data === "string" ? data : JSON.stringify(data);
  return `${name === undefined ? "" : `event: ${name}\n`}data: ${text}\n\n`;
}

/** The arguments of a call as the text a model writes. */
export function argumentText(given: CallArguments): string {
  return typeof given === "string" ? given : JSON.stringify(given);
}

/** Cuts a text into a first part, which is all that arrives when a stream breaks off, and the rest. */
export function halves(text: string): readonly [string, string] {
  const middle = Math.ceil(text.length / 2);
  return [text.slice(0, middle), text.slice(middle)];
}

/** What a stream and a document say they cost. Agents divide by some of these, so none is 0. */
export const USAGE = { input: 10, output: 5 };

/** The kind of error that an HTTP status is, in the words that Anthropic and OpenAI share. */
export function errorType(status: number): string {
  if (status === 401) return "authentication_error";
  if (status === 403) return "permission_error";
  if (status === 404) return "not_found_error";
  if (status === 429) return "rate_limit_error";
  if (status === 529) return "overloaded_error";
  return status < 500 ? "invalid_request_error" : "api_error";
}
