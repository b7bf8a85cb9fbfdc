import type { Operation } from "@reins/api";
import type { z } from "zod";
import { addressOf, type Input } from "./call.ts";

/** Who follows a stream. */
export interface Follower<T> {
  onEvent(event: T, id: string): void;
  /** Told when the stream is there, and when it is lost; the browser takes it up again by itself. */
  onState?(isOpen: boolean): void;
}

/** Follows a stream of server-sent events until the answer is called. */
export function follow<P extends z.ZodType, Q extends z.ZodType, B extends z.ZodType, A extends z.ZodType>(
  operation: Operation<P, Q, B, A>,
  input: Pick<Input<P, Q, B>, "params" | "query">,
  { onEvent, onState }: Follower<z.output<A>>,
): () => void {
  const source = new EventSource(addressOf(operation.path, input.params, input.query));
  source.addEventListener(operation.events ?? "message", (event) =>
    onEvent(operation.answer.parse(JSON.parse(event.data)), event.lastEventId),
  );
  source.addEventListener("open", () => onState?.(true));
  source.addEventListener("error", () => onState?.(false));
  return () => source.close();
}
