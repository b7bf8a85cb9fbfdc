import type { Operation } from "@reins/api";
import type { z } from "zod";
import { addressOf, type Input, request } from "./call.ts";
import { parseExact, serverEvents } from "./parse.ts";

/** Who follows a stream. */
interface Follower<T> {
  onEvent(event: T, id: string): void;
  /** Told when the stream is there, and when it is lost; it is taken up again by itself. What came meanwhile may not be told. */
  onState?(isOpen: boolean): void;
  /** Whether and how it is followed while nobody looks at the page; without it, it is not. */
  readonly background?: Background;
}

const AGAIN_MS = 3_000;

/** Follows a stream of server-sent events until the answer is called. */
export function follow<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, A extends z.ZodType>(
  operation: Operation<P, Q, B, A>,
  input: Pick<Input<P, Q, B>, "params" | "query">,
  follower: Follower<z.output<A>>,
): () => void {
  const address = addressOf(operation.path, input.params, input.query);
  return whileSeen(() => followNow(operation, address, follower), follower.background);
}

function followNow<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, A extends z.ZodType>(
  operation: Operation<P, Q, B, A>,
  address: string,
  { onEvent, onState }: Follower<z.output<A>>,
): () => void {
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const open = () => {
    const opened = new EventSource(address);
    source = opened;
    opened.addEventListener(operation.events ?? "message", (event) =>
      onEvent(operation.answer.parse(parseExact(String(event.data))), event.lastEventId),
    );
    opened.addEventListener("open", () => onState?.(true));
    opened.addEventListener("error", () => {
      onState?.(false);
      // A browser gives up on a server that answers but has no stream yet, as one that is just starting.
      if (opened.readyState === EventSource.CLOSED) timer = setTimeout(open, AGAIN_MS);
    });
  };
  open();
  return () => {
    clearTimeout(timer);
    source?.close();
  };
}

/** The name under which the tabs of a browser agree which of them goes on while nobody looks at any. */
interface Background {
  readonly name: string;
  /** Whether it is wanted at all while nobody looks. */
  readonly isWanted: () => boolean;
}

/**
 * Has something going while somebody looks at the page, until the answer is called. A browser opens six connections to a
 * server and no more, for all of its tabs together, so that tabs in the background must hold none; where it is wanted
 * there too, one of them does it for all.
 */
function whileSeen(begin: () => () => void, background?: Background): () => void {
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
    holdAlone(background.name, claim.signal, start);
  };
  look();
  document.addEventListener("visibilitychange", look);
  return () => {
    document.removeEventListener("visibilitychange", look);
    claim?.abort();
    stop();
  };
}

/** Calls somebody once no other tab holds a name, which is held then until the signal aborts. */
function holdAlone(name: string, signal: AbortSignal, onHeld: () => void): void {
  const held = navigator.locks.request(name, { signal }, async () => {
    if (signal.aborted) return;
    onHeld();
    await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
  });
  held.catch((error: unknown) => {
    if (!signal.aborted) throw error;
  });
}

/** Has the server do something that takes a while, and gives each word of how far it is. */
export async function* progress<
  P extends z.ZodType,
  Q extends z.ZodType,
  B extends z.ZodType,
  A extends z.ZodType,
>(operation: Operation<P, Q, B, A>, input: Input<P, Q, B>): AsyncGenerator<z.output<A>> {
  const { body } = await request(operation, input);
  if (body === null) return;
  for await (const data of serverEvents(body)) yield operation.answer.parse(parseExact(data));
}
