import type { GovernedCall } from "../dialect/call.ts";
import { Bell } from "../streams/bell.ts";
import { type EventStream, positionText } from "../streams/event-stream.ts";
import { lastEventIn } from "../streams/last-event.ts";
import { ApprovalTail } from "./approval-tail.ts";

/**
 * Tells somebody of every change of their tenant's approvals, as far as it concerns them: from now on, or after the last
 * one they saw.
 */
export async function tellApprovals(call: GovernedCall, open: () => EventStream): Promise<void> {
  const { request, harness, supervisor, principal } = call;
  const { tenant } = principal;
  const tail = ApprovalTail.of(harness, supervisor);
  const newest = await harness.store.query(supervisor.approvalTables, "lastChange", null);
  let position = Math.min(lastEventIn(request) ?? newest, newest);
  const stream = open();
  const bell = new Bell();
  const unlisten = tail.listen(tenant, () => bell.ring());
  stream.onBeat(() => bell.ring());
  stream.closed.addEventListener("abort", () => bell.ring(), { once: true });
  try {
    await stream.send(positionText(position));
    // A token that was revoked, or a harness that is gone, ends it.
    for (let now = await call.asOfNow(); now && !stream.closed.aborted; now = await call.asOfNow()) {
      const following = await tail.after(position, supervisor.answererOf(now));
      for (const text of following.texts) if (!(await stream.send(text))) return;
      position = following.position;
      if (following.texts.length === 0) await bell.wait();
    }
  } finally {
    unlisten();
  }
}
