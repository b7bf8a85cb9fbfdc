import type { ledgerOperations } from "@reins/api";
import type { GovernedCall } from "../../dialect/call.ts";
import { Bell } from "../../streams/bell.ts";
import { type EventStream, eventText, positionText } from "../../streams/event-stream.ts";
import { lastEventIn } from "../../streams/last-event.ts";
import { LedgerView } from "./ledger-view.ts";

const PAGE = 200;

/** Tells somebody of the entries they may see, from now on or after the last one they saw. */
export async function tellEntries(
  call: GovernedCall<(typeof ledgerOperations)["streamEntries"]>,
  open: () => EventStream,
): Promise<void> {
  const { request, harness, query } = call;
  const { ledger } = harness;
  const newest = (await ledger.size()) - 1;
  let position = Math.min(lastEventIn(request) ?? newest, newest);
  const stream = open();
  const bell = new Bell();
  const unsubscribe = ledger.subscribe(() => bell.ring());
  stream.onBeat(() => bell.ring());
  stream.closed.addEventListener("abort", () => bell.ring(), { once: true });
  try {
    await stream.send(positionText(Math.max(0, position)));
    while (!stream.closed.aborted && (await call.asOfNow())) {
      // There may be tenants that were not there before.
      const view = await LedgerView.of(call);
      const { entries, seen, more } = await view.read({
        ...query,
        order: "oldest",
        after: position,
        limit: PAGE,
      });
      for (const placed of entries) if (!(await stream.send(eventText("entry", placed.seq, placed)))) return;
      position = seen ?? position;
      if (!more) await bell.wait();
    }
  } finally {
    unsubscribe();
  }
}
