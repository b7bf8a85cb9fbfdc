import type { Operation } from "@reins/api";
import type { z } from "zod";
import { addressOf, type Input } from "./call.ts";

/** Who follows a stream. */
export interface Follower<T> {
  onEvent(event: T, id: string): void;
  /** Told when the stream is there, and when it is lost; it is taken up again by itself. */
  onState?(isOpen: boolean): void;
}

const AGAIN_MS = 3_000;

/** Follows a stream of server-sent events until the answer is called. */
export function follow<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, A extends z.ZodType>(
  operation: Operation<P, Q, B, A>,
  input: Pick<Input<P, Q, B>, "params" | "query">,
  { onEvent, onState }: Follower<z.output<A>>,
): () => void {
  const address = addressOf(operation.path, input.params, input.query);
  let source: EventSource | undefined;
  let timer: ReturnType<typeof setTimeout> | undefined;
  const open = () => {
    const opened = new EventSource(address);
    source = opened;
    opened.addEventListener(operation.events ?? "message", (event) =>
      onEvent(operation.answer.parse(JSON.parse(event.data)), event.lastEventId),
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
