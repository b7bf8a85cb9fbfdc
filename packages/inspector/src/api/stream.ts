import type { Operation } from "@reins/api";
import type { z } from "zod";
import { addressOf, type Input } from "./call.ts";
import { parseExact } from "./exact-json.ts";
import { type Background, whileSeen } from "./while-seen.ts";

/** Who follows a stream. */
export interface Follower<T> {
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
