import type { Operation } from "@reins/api";
import type { OperationInput } from "@reins/sdk/http";
import type { z } from "zod";
import { http } from "./queries.ts";

interface Subscriber<T> {
  onEvent(event: T): void;
  /** Reports whether the stream is open. A lost stream reconnects by itself; events in between may be missing. */
  onState?(isOpen: boolean): void;
  /** Keeps the stream open in one hidden tab; without it, hidden tabs close their streams. */
  readonly background?: Background;
}

const RETRY_MS = 3_000;

/** Subscribes to a stream of server-sent events; returns `unsubscribe`. */
export function subscribe<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, A extends z.ZodType>(
  operation: Operation<P, Q, B, A>,
  { params, query }: Pick<OperationInput<P, Q, B>, "params" | "query">,
  { onEvent, onState, background }: Subscriber<z.output<A>>,
): () => void {
  const read = async (signal: AbortSignal) => {
    const input = { ...(params !== undefined && { params }), ...(query !== undefined && { query }) };
    while (!signal.aborted)
      try {
        for await (const event of http.follow(operation, { ...input, signal, onState })) onEvent(event);
      } catch {
        // Refused, as by a server that is being replaced; what the page lists says why.
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
  };
  return whileVisible(() => {
    const end = new AbortController();
    void read(end.signal);
    return () => end.abort();
  }, background);
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
