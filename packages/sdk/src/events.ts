import { exponentialBackoff } from "@reins/kit/backoff";
import { EventTooLarge, type ServerSentEvent, SseParser } from "@reins/kit/sse";
import { ApiError, ConnectionError } from "./errors.ts";

/** The longest event that is accepted, in characters. */
const MAX_EVENT_LENGTH = 64 * 1024 * 1024;
/** How the time between two tries grows. */
export const BACKOFF = { firstMs: 100, mostMs: 5_000 };
/** How long reconnecting is tried by default. */
export const GIVE_UP_MS = 300_000;
/** A server sends several keep-alives within this time; a silent one is gone, though the connection may not know it. */
const IDLE_MS = 60_000;

/** Statuses after which a stream may open later: a reader that is still registered, a busy or starting server. */
const PASSING: ReadonlySet<number> = new Set([409, 429, 502, 503, 504]);

/** How a stream of events is opened and kept open. */
export interface EventSourceOptions {
  /** Opens the stream after an event; rejects with a {@link ApiError} or {@link ConnectionError}. */
  readonly open: (lastEventId: string | undefined, signal: AbortSignal) => Promise<Response>;
  readonly signal: AbortSignal;
  readonly lastEventId?: string | undefined;
  /** Rejects after reconnecting failed for this long. */
  readonly giveUpMs?: number | undefined;
  /** How long a stream may be silent. */
  readonly idleMs?: number | undefined;
  /** Reports whether the stream is open. */
  readonly onState?: ((isOpen: boolean) => void) | undefined;
}

/**
 * Yields the events of a stream and reopens it, after the last event that was taken, when it breaks. No event is lost
 * or repeated if the server continues after `Last-Event-ID`. Ends with the signal.
 */
export async function* followEvents(options: EventSourceOptions): AsyncGenerator<ServerSentEvent> {
  const { signal, giveUpMs = GIVE_UP_MS, idleMs = IDLE_MS, onState = () => undefined } = options;
  let { lastEventId } = options;
  let failures = 0;
  let waited = 0;
  while (!signal.aborted) {
    const began = performance.now();
    let fault: unknown;
    try {
      const { body } = await opened(options, lastEventId);
      onState(true);
      for await (const event of sseEventsOf(body, { idleMs })) {
        failures = 0;
        waited = 0;
        if (event.id !== "") lastEventId = event.id;
        yield event;
        if (signal.aborted) return;
      }
      fault = new ConnectionError("unreachable", "The server ends each stream at once.");
    } catch (error) {
      if (signal.aborted) break;
      if (!isPassing(error)) throw error;
      fault = error;
    } finally {
      onState(false);
    }
    const silence = fault instanceof Silence ? idleMs : 0;
    // A server that sent events, or keep-alives for a while, is well; one that only accepts is not.
    if (performance.now() - began - silence >= idleMs) {
      failures = 0;
      waited = 0;
    } else if (failures > 0) waited += silence;
    if (waited >= giveUpMs) throw fault;
    failures += 1;
    const wanted = fault instanceof ApiError ? (fault.retryAfterMs ?? 0) : 0;
    const pause = Math.max(exponentialBackoff(BACKOFF, failures, Math.random()), wanted);
    waited += pause;
    await delay(pause, signal);
  }
}

function isPassing(error: unknown): boolean {
  if (error instanceof ApiError) return PASSING.has(error.status);
  return error instanceof ConnectionError && error.code === "unreachable";
}

/** Opens the stream; a server that accepts and does not answer is gone. */
async function opened(
  { open, signal, idleMs = IDLE_MS }: EventSourceOptions,
  lastEventId: string | undefined,
) {
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new Silence(idleMs)), idleMs);
  try {
    return await open(lastEventId, AbortSignal.any([signal, late.signal]));
  } finally {
    clearTimeout(timer);
  }
}

/** Reads the events of a body. One that breaks or is silent for too long is {@link ConnectionError}. */
export async function* sseEventsOf(
  body: ReadableStream<Uint8Array> | null,
  options: ReadOptions = {},
): AsyncGenerator<ServerSentEvent> {
  const parser = new SseParser(MAX_EVENT_LENGTH);
  try {
    for await (const chunk of bytesOf(body, options)) yield* parser.push(chunk);
  } catch (error) {
    if (!(error instanceof EventTooLarge)) throw error;
    throw new ConnectionError("incompatible", "An event is too long to be one of Reins.", { cause: error });
  }
}

/** How a body is read. */
interface ReadOptions {
  readonly signal?: AbortSignal | undefined;
  /** How long it may be silent while it is read. */
  readonly idleMs?: number | undefined;
}

/**
 * Reads the bytes of a body; some browsers cannot iterate over one. One that breaks or is silent for too long is
 * {@link ConnectionError}.
 */
export async function* bytesOf(
  body: ReadableStream<Uint8Array> | null,
  { signal, idleMs = IDLE_MS }: ReadOptions,
): AsyncGenerator<Uint8Array> {
  if (body === null) return;
  const reader = body.getReader();
  // The body may have broken already.
  const cancel = () => reader.cancel().catch(() => undefined);
  let isSilent = false;
  const giveUp = () => {
    isSilent = true;
    void cancel();
  };
  try {
    for (;;) {
      const timer = setTimeout(giveUp, idleMs);
      const { done, value } = await reader
        .read()
        .catch((error: unknown) => {
          signal?.throwIfAborted();
          throw new ConnectionError("unreachable", "The connection broke during the response.", {
            cause: error,
          });
        })
        .finally(() => clearTimeout(timer));
      if (isSilent) throw new Silence(idleMs);
      if (done) return;
      yield value;
    }
  } finally {
    await cancel();
  }
}

/** A server that accepted a request sends nothing. */
class Silence extends ConnectionError {
  constructor(idleMs: number) {
    super("unreachable", `The server sent nothing for ${idleMs / 1_000} seconds.`);
  }
}

/** Resolves after some time, or when the signal aborts. */
export function delay(milliseconds: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve();
    const end = () => {
      clearTimeout(timer);
      signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, milliseconds);
    signal.addEventListener("abort", end, { once: true });
  });
}
