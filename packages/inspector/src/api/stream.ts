import type { Operation } from "@reins/api";
import { parseLossless } from "@reins/kit/lossless";
import type { z } from "zod";
import { type Input, operationUrl, request } from "./call.ts";
import { serverEvents } from "./server-events.ts";

interface Subscriber<T> {
  onEvent(event: T, id: string): void;
  /** Reports whether the stream is open. A lost stream reconnects by itself; events in between may be missing. */
  onState?(isOpen: boolean): void;
  /** Keeps the stream open in one hidden tab; without it, hidden tabs close their streams. */
  readonly background?: Background;
}

const RETRY_MS = 3_000;

/** Subscribes to a stream of server-sent events; returns `unsubscribe`. */
export function subscribe<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, A extends z.ZodType>(
  operation: Operation<P, Q, B, A>,
  input: Pick<Input<P, Q, B>, "params" | "query">,
  subscriber: Subscriber<z.output<A>>,
): () => void {
  const address = operationUrl(operation.path, input.params, input.query);
  return whileVisible(() => subscribeNow(operation, address, subscriber), subscriber.background);
}

function subscribeNow<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, A extends z.ZodType>(
  operation: Operation<P, Q, B, A>,
  address: string,
  { onEvent, onState }: Subscriber<z.output<A>>,
): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const open = () => {
    const opened = new EventSource(address);
    source = opened;
    opened.addEventListener(operation.events ?? "message", (event) =>
      onEvent(operation.answer.parse(parseLossless(String(event.data))), event.lastEventId),
    );
    opened.addEventListener("open", () => onState?.(true));
    opened.addEventListener("error", () => {
      onState?.(false);
      // A browser stops retrying if the server responds without a stream, as it does during its start.
      if (opened.readyState === EventSource.CLOSED) timer = setTimeout(open, RETRY_MS);
    });
  };
  open();
  return () => {
    clearTimeout(timer);
    source?.close();
  };
}

/** The lock by which the tabs of a browser agree which of them stays subscribed while all are hidden. */
interface Background {
  readonly name: string;
  /** Whether a hidden tab should stay subscribed at all. */
  readonly isWanted: () => boolean;
}

/**
 * Runs something while the page is visible. A browser opens at most six connections to a server for all of its tabs,
 * so hidden tabs must hold none; with `background`, one hidden tab runs it for all.
 */
function whileVisible(begin: () => () => void, background?: Background): () => void {
  let end: (() => void) | undefined;
  let claim: AbortController | undefined;
  const start = () => {
    end ??= begin();
  };
  const stop = () => {
    end?.();
    end = undefined;
  };
  const look = () => {
    claim?.abort();
    claim = undefined;
    if (document.visibilityState === "visible") return start();
    stop();
    if (!background?.isWanted() || !("locks" in navigator)) return;
    claim = new AbortController();
    holdTabLock(background.name, claim.signal, start);
  };
  look();
  document.addEventListener("visibilitychange", look);
  return () => {
    document.removeEventListener("visibilitychange", look);
    claim?.abort();
    stop();
  };
}

/** Acquires a lock shared by all tabs and holds it until the signal aborts. */
function holdTabLock(name: string, signal: AbortSignal, onHeld: () => void): void {
  const held = navigator.locks.request(name, { signal }, async () => {
    if (signal.aborted) return;
    onHeld();
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  });
  held.catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}

/** Starts a long operation and yields its progress. */
export async function* progress<
  P extends z.ZodType,
  Q extends z.ZodType,
  B extends z.ZodType,
  A extends z.ZodType,
>(operation: Operation<P, Q, B, A>, input: Input<P, Q, B>): AsyncGenerator<z.output<A>> {
  const { body } = await request(operation, input);
  if (body === null) return;
  for await (const data of serverEvents(body)) yield operation.answer.parse(parseLossless(data));
}
