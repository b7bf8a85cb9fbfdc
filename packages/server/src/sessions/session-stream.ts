import type { Hosting } from "@reins/host";
import type { GovernedCall } from "../dialect/call.ts";
import { Bell } from "../streams/bell.ts";
import { type EventStream, eventText } from "../streams/event-stream.ts";
import { shownSessions } from "./shown-session.ts";

/** How long changes are gathered: a turn that begins and ends at once is told as one. */
const GATHER_MS = 200;
/** Whoever is so many sessions behind is sent away, to read the list anew. */
const MOST_BEHIND = 10_000;

/** Tells somebody of the sessions they may see, from now on, whenever one is new or not as it was. */
export async function tellSessions(
  { principal: { tenant }, harness, asOfNow }: GovernedCall,
  hosting: Hosting,
  open: () => EventStream,
): Promise<void> {
  const { hub } = hosting;
  const changed = new Set<string>();
  const stream = open();
  const bell = new Bell();
  const unwatch = hub.watch((record) => {
    if (record.tenant !== tenant) return;
    changed.add(record.id);
    if (changed.size > MOST_BEHIND) stream.end();
    bell.ring();
  });
  stream.onBeat(() => bell.ring());
  stream.closed.addEventListener("abort", () => bell.ring(), { once: true });
  try {
    // A token that was revoked, or a harness that is gone, ends it.
    while (!stream.closed.aborted) {
      const principal = await asOfNow();
      if (!principal) return;
      const ids = [...changed];
      changed.clear();
      const found = await Promise.all(ids.map((session) => hub.find(principal, session)));
      const records = found.filter((record) => record !== undefined);
      for (const session of await shownSessions(hosting, harness, records))
        if (!(await stream.send(eventText("session", session.id, session)))) return;
      await bell.wait();
      await gathered(hub.clock, stream.closed);
    }
  } finally {
    unwatch();
  }
}

/** Settles after a while, or when nobody reads any more. */
function gathered(clock: Hosting["hub"]["clock"], closed: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  const wake = () => resolve();
  const callOff = clock.after(GATHER_MS, wake);
  closed.addEventListener("abort", wake, { once: true });
  return promise.finally(() => {
    callOff();
    closed.removeEventListener("abort", wake);
  });
}
