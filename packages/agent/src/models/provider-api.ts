import { isObject } from "@reins/acp";
import { errorMessage } from "@reins/kit";
import {
  type Model,
  ModelError,
  type ModelErrorCode,
  type ModelEvent,
  type ModelInfo,
  type ModelRequest,
} from "./model.ts";

/** A model behind the SDK of a provider; `start` sends a request and reads what it streams. */
export function providerModel(
  info: ModelInfo,
  start: (request: ModelRequest, signal: AbortSignal) => Promise<AsyncIterable<ModelEvent>>,
): Model {
  return {
    info,
    async *stream(request, signal) {
      try {
        yield* await start(request, signal);
      } catch (error) {
        signal.throwIfAborted();
        throw modelErrorOf(error, info.id);
      }
      // The SDK ends an aborted stream without an error.
      signal.throwIfAborted();
    },
  };
}

const BY_STATUS: Readonly<Record<number, ModelErrorCode | undefined>> = {
  400: "bad_request",
  401: "unauthorized",
  402: "unpaid",
  403: "unauthorized",
  404: "not_found",
  408: "unavailable",
  409: "unavailable",
  413: "context_exceeded",
  422: "bad_request",
  429: "rate_limited",
  503: "overloaded",
  529: "overloaded",
};

const TOO_LONG =
  /prompt is too long|context[ _](length|window)|maximum context|too many tokens|context_length_exceeded/i;

/** Also sent with status 429, although waiting does not help. */
const UNPAID = /insufficient_quota|credit balance is too low|billing_hard_limit/i;

const ADVICE: Partial<Record<ModelErrorCode, string>> = {
  unauthorized: "check the API key",
  unpaid: "add credit at the provider, or choose another model",
  not_found: "check the model's name and the address",
  rate_limited: "try again later",
  overloaded: "try again later",
};

const MAX_MESSAGE = 500;

/** Maps an error of a provider's SDK. Both SDKs attach HTTP status, headers and body. */
export function modelErrorOf(cause: unknown, model: string): ModelError {
  if (cause instanceof ModelError) return cause;
  const { status, headers, type, error } = fieldsOf(cause);
  const message = (messageIn(error) ?? errorMessage(cause)).slice(0, MAX_MESSAGE);
  const code = codeOf(status, `${message} ${type ?? ""} ${JSON.stringify(error ?? "")}`, type);
  const advice = ADVICE[code];
  return new ModelError(
    code,
    `${model} ${howOf(status, type)}: ${message}${advice === undefined ? "" : `; ${advice}`}`,
    {
      cause,
      status,
      retryAfterMs: retryAfter(headers),
      limit: code === "rate_limited" ? (/token/i.test(message) ? "tokens" : "requests") : undefined,
    },
  );
}

function howOf(status: number | undefined, type: string | undefined): string {
  if (status !== undefined) return `answered ${status}`;
  return type === undefined ? "could not be reached" : "failed within the stream";
}

/** The message in an error body, at any depth. */
function messageIn(body: unknown): string | undefined {
  if (!isObject(body)) return undefined;
  return messageIn(body.error) ?? (typeof body.message === "string" ? body.message : undefined);
}

interface ApiFields {
  readonly status?: number | undefined;
  readonly headers?: Headers | undefined;
  readonly type?: string | undefined;
  readonly error?: unknown;
}

function fieldsOf(cause: unknown): ApiFields {
  if (typeof cause !== "object" || cause === null) return {};
  const [status, headers, type, error] = ["status", "headers", "type", "error"].map((name) =>
    Reflect.get(cause, name),
  );
  return {
    status: typeof status === "number" ? status : undefined,
    headers: headers instanceof Headers ? headers : undefined,
    type: typeof type === "string" ? type : undefined,
    error,
  };
}

function codeOf(status: number | undefined, words: string, type: string | undefined): ModelErrorCode {
  if ((status === undefined || status === 400) && TOO_LONG.test(words)) return "context_exceeded";
  if (UNPAID.test(words)) return "unpaid";
  if (status !== undefined) return BY_STATUS[status] ?? (status >= 500 ? "unavailable" : "bad_request");
  // An error in the middle of a stream has a type but no status.
  if (type === "overloaded_error") return "overloaded";
  if (type === "rate_limit_error" || type === "rate_limit_exceeded") return "rate_limited";
  if (type === "invalid_request_error" || type === "invalid_prompt") return "bad_request";
  if (type === "authentication_error" || type === "permission_error") return "unauthorized";
  return "unavailable";
}

function retryAfter(headers: Headers | undefined): number | undefined {
  const milliseconds = Number(headers?.get("retry-after-ms") ?? Number.NaN);
  if (Number.isFinite(milliseconds)) return Math.max(0, milliseconds);
  const after = headers?.get("retry-after");
  if (after === null || after === undefined) return undefined;
  const seconds = Number(after);
  if (Number.isFinite(seconds)) return Math.max(0, seconds * 1_000);
  const date = Date.parse(after);
  return Number.isNaN(date) ? undefined : Math.max(0, date - Date.now());
}

const MAX_ARGUMENTS = 1 << 20;

/** Collects the arguments of a call from fragments. */
export class CallArguments {
  #pieces: string[] = [];
  #length = 0;

  /** Throws when the arguments grow without end. */
  add(piece: string): void {
    this.#length += piece.length;
    if (this.#length > MAX_ARGUMENTS)
      throw new ModelError("too_long", `the model called a tool with more than ${MAX_ARGUMENTS} characters`);
    this.#pieces.push(piece);
  }

  toString(): string {
    this.#pieces = [this.#pieces.join("")];
    return this.#pieces[0] ?? "";
  }
}
