import { isObject, type ParsedJson, parseJson } from "@reins/ahp";

/** The error of a response, as far as it can be made out. */
export interface AnswerError {
  readonly code: unknown;
  readonly message: string;
  readonly data: unknown;
}

/**
 * A response as it came. Reading it is lenient, so that one fault of a harness fails the check about that fault
 * and not every check there is.
 */
export interface Answer {
  /** What it answers. */
  readonly sent: string;
  readonly text: string;
  /** Only over HTTP. */
  readonly status: number | undefined;
  /** The whole message. */
  readonly message: Readonly<Record<string, unknown>>;
  /** Absent when there is none; `null` when it is `null`. */
  readonly result: unknown;
  readonly error: AnswerError | undefined;
  /** How the numbers of the message were spelled. */
  readonly floats: ParsedJson["floats"];
}

/** Reads a response; absent when the text is none. */
export function readAnswer(sent: string, text: string, status?: number): Answer | undefined {
  try {
    const { value: message, floats } = parseJson(text);
    if (!isObject(message)) return undefined;
    const error = isObject(message.error) ? readError(message.error) : undefined;
    return { sent, text, status, message, result: message.result, error, floats };
  } catch {
    return undefined;
  }
}

function readError({ code, message, data }: Record<string, unknown>): AnswerError {
  return { code, message: typeof message === "string" ? message : "", data };
}
