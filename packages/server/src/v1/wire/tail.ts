import type { GovernedCall } from "../../dialect/call.ts";
import { Bell } from "../../streams/bell.ts";
import { type EventStream, eventText, positionText } from "../../streams/event-stream.ts";
import { lastEventIn } from "../../streams/last-event.ts";

/** Something that grows, and of which the newest are kept. */
export interface Growing<Item extends { readonly seq: number }> {
  /** The number of the newest. */
  readonly last: number;
  /** Those after a place that somebody may see, the oldest first. */
  after(seq: number): readonly Item[];
  /** Rings when there are more; the returned function ends that. */
  listen(ring: () => void): () => void;
}

/** So many that nobody else waits long for their turn. */
const MOST_AT_ONCE = 100;

/** How what is told is called, and how it is shown. */
export interface Telling<Item> {
  readonly event: string;
  readonly shown: (items: readonly Item[]) => readonly object[];
}

/** Tells somebody of what comes, from now on or after the last one they saw. Who is too slow misses what was forgotten meanwhile. */
export async function tellTail<Item extends { readonly seq: number }>(
  { request, asOfNow }: GovernedCall,
  open: () => EventStream,
  growing: Growing<Item>,
  { event, shown }: Telling<Item>,
): Promise<void> {
  let position = Math.min(lastEventIn(request) ?? growing.last, growing.last);
  const stream = open();
  const bell = new Bell();
  const unlisten = growing.listen(() => bell.ring());
  stream.onBeat(() => bell.ring());
  stream.closed.addEventListener("abort", () => bell.ring(), { once: true });
  try {
    await stream.send(positionText(position));
    while (!stream.closed.aborted && (await asOfNow())) {
      // What comes while some are sent is looked at the next time.
      const { last } = growing;
      const items = growing.after(position).slice(0, MOST_AT_ONCE);
      const told = shown(items);
      for (const [index, { seq }] of items.entries())
        if (!(await stream.send(eventText(event, seq, told[index])))) return;
      position = items.length < MOST_AT_ONCE ? Math.max(position, last) : (items.at(-1)?.seq ?? last);
      if (growing.last === position) await bell.wait();
    }
  } finally {
    unlisten();
  }
}
