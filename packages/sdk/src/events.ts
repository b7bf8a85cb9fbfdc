import { exponentialBackoff } from "@reins/kit/backoff";
import { type ServerSentEvent, SseParser } from "@reins/kit/sse";
import { ApiError, ConnectionError } from "./errors.ts";

/** The longest event that is accepted, in characters. */
const MAX_EVENT_LENGTH = 64 * 1024 * 1024;
const BACKOFF = { firstMs: 100, mostMs: 5_000 };
/** How long reconnecting is tried by default. */
const GIVE_UP_MS = 300_000;

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
  /** Reports whether the stream is open. */
  readonly onState?: ((isOpen: boolean) => void) | undefined;
}

/**
 * Yields the events of a stream and reopens it, after the last event that was taken, when it breaks. No event is lost
 * or repeated if the server continues after `Last-Event-ID`. Ends with the signal.
 */
export async function* followEvents(options: EventSourceOptions): AsyncGenerator<ServerSentEvent> {
  const { open, signal, giveUpMs = GIVE_UP_MS, onState = () => undefined } = options;
  let { lastEventId } = options;
  let failures = 0;
  let waited = 0;
  while (!signal.aborted) {
    try {
      const { body } = await open(lastEventId, signal);
      onState(true);
      for await (const event of sseEventsOf(body)) {
        // An event arrived, so the server is well; one that only accepts and closes is not.
        failures = 0;
        waited = 0;
        if (event.id !== "") lastEventId = event.id;
        yield event;
        if (signal.aborted) return;
      }
    } catch (error) {
      if (signal.aborted) break;
      if (!isPassing(error) || waited >= giveUpMs) throw error;
    } finally {
      onState(false);
    }
    failures += 1;
    const pause = exponentialBackoff(BACKOFF, failures, Math.random());
    waited += pause;
    await delay(pause, signal);
  }
}

function isPassing(error: unknown): boolean {
  if (error instanceof ApiError) return PASSING.has(error.status);
  return error instanceof ConnectionError && error.code === "unreachable";
}

/** Reads the events of a body; some browsers cannot iterate over one. A body that breaks is {@link ConnectionError}. */
export async function* sseEventsOf(body: ReadableStream<Uint8Array> | null): AsyncGenerator<ServerSentEvent> {
  if (body === null) return;
  const reader = body.getReader();
  const parser = new SseParser(MAX_EVENT_LENGTH);
  try {
    for (;;) {
      const { done, value } = await reader.read().catch((error: unknown) => {
        throw new ConnectionError("unreachable", "The stream of the server broke.", { cause: error });
      });
      if (done) return;
      yield* parser.push(value);
    }
  } finally {
    // The body may have broken already.
    await reader.cancel().catch(() => undefined);
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
