import { AutoResetEvent, type SseWriter, sseText } from "@reins/kit";
import type { Principal } from "@reins/supervisor";
import { lastEventId } from "../gateway/request.ts";
import type { AuthorizedCall } from "./router.ts";

/** A growing list whose items have increasing positions. */
export interface Growing {
  /** The position of the newest item. */
  newest(): number | Promise<number>;
  /** Subscribes to new items; returns `unsubscribe`. */
  subscribe(wake: () => void): () => void;
  /** The next items after a position, as the principal may see them now. */
  after(position: number, principal: Principal): Batch | Promise<Batch>;
}

/** Some items as events, the position that they reach, and whether to read on without waiting for new ones. */
export interface Batch {
  readonly texts: readonly string[];
  readonly position: number;
  readonly more: boolean;
}

/** Streams a growing list, from now or after the last event that the client has. Ends when the token is revoked. */
export async function follow(call: AuthorizedCall, open: () => SseWriter, growing: Growing): Promise<void> {
  const newest = await growing.newest();
  let position = Math.min(lastEventId(call.request) ?? newest, newest);
  const stream = open();
  const woken = new AutoResetEvent();
  const wake = () => woken.set();
  const unsubscribe = growing.subscribe(wake);
  stream.onKeepAlive(wake);
  stream.closed.addEventListener("abort", wake, { once: true });
  try {
    await stream.send(sseText({ id: Math.max(0, position) }));
    while (!stream.closed.aborted) {
      const principal = await call.currentPrincipal();
      if (!principal) return;
      const batch = await growing.after(position, principal);
      for (const text of batch.texts) if (!(await stream.send(text))) return;
      position = batch.position;
      if (!batch.more) await woken.wait();
    }
  } finally {
    unsubscribe();
  }
}
