import { membersOf } from "@reins/acp";
import type { PlacedEntry } from "@reins/ledger";
import type { HaakEvent } from "./event.ts";

/** The events of an entry: what it says, where there is an event for that, and that it was added. */
export function ledgerEvents({ cid, quality, payload, target }: PlacedEntry["entry"]): readonly HaakEvent[] {
  const appended: HaakEvent = { type: "ledger_append", cid, quality };
  const said = membersOf(payload);
  if (quality === "mailbox_inject")
    return [
      {
        type: "mailbox_injected",
        message_id: String(said.message),
        from: String(said.from),
        subject: String(said.subject),
        timestamp: String(said.timestamp),
      },
      appended,
    ];
  if (quality !== "policy_verdict" || said.event_type !== "pre_action") return [appended];
  const { verdict, rule, reason, constitution_hash } = said;
  return [
    {
      type: "policy_gate",
      tool: target,
      verdict: String(verdict),
      rule: typeof rule === "string" ? rule : null,
      reason: String(reason),
      constitution_hash: typeof constitution_hash === "string" ? constitution_hash : null,
    },
    appended,
  ];
}
