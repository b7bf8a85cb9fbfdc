import { type Clock, systemClock } from "@reins/kit";
import { Writes } from "../../../store/test/deadly-database.ts";
// The process that is killed: a store, a ledger and approvals, driven over the channel to its parent.
import type { ApprovalRequest } from "../../src/approvals/request.ts";
import { approvalTables } from "../../src/approvals/tables.ts";
import { checkAgreement } from "../../test/approvals/agreement.ts";
import { openHome } from "../../test/approvals/home.ts";
import { verdictDraft } from "../../test/approvals/requests.ts";
import type { Acted, Asked, Call, Said, Start } from "./protocol.ts";

const start: Start = JSON.parse(process.argv[2] ?? "");
let ahead = start.ahead_ms;
const clock: Clock = {
  now: () => new Date(systemClock.now().getTime() + ahead),
  after: (milliseconds, run) => systemClock.after(milliseconds, run),
};

process.once("disconnect", () => process.exit());
const writes = new Writes();
writes.dieAfter(start.boundary);
const { store, ledger, approvals } = await openHome(start.folder, {
  clock,
  webhooks: [{ name: "parent", ...start.webhook }],
  wrap: {
    module: new URL("../../../store/test/deadly-database.ts", import.meta.url).href,
    settings: { shared: writes.shared },
  },
});

const ready = await store.query(approvalTables, "lastChange", null);
approvals.subscribe((event) => say({ event, late_ms: clock.now().getTime() - Date.parse(event.at) }));
process.on("message", (asked: Asked) => void answer(asked));
say({ ready });

function say(said: Said): void {
  process.send?.(said);
}

async function answer({ number, call }: Asked): Promise<void> {
  try {
    say({ number, value: (await carryOut(call)) ?? null });
  } catch (error) {
    const { code = "unknown", stack = String(error) } = Object(error);
    say({ number, error: { code, message: stack } });
  }
}

async function carryOut(call: Call): Promise<unknown> {
  switch (call.do) {
    case "act":
      return act(call.request);
    case "answer":
      return approvals.answer(call.id, call.answer);
    case "withdraw":
      return approvals.withdraw(call.part, "the turn was cancelled");
    case "revoke":
      return revoke(call.tenant, call.by);
    case "advance":
      ahead += call.milliseconds;
      return approvals.expire();
    case "arm":
      return writes.dieAfter(call.boundary);
    case "passed":
      return writes.passed;
    case "check":
      return checkAgreement(ledger, approvals, call.tenant);
    case "drain":
      return drain();
  }
}

/** What a supervisor does: what is settled is recorded together with its use, and the rest is asked about. */
async function act(request: ApprovalRequest): Promise<Acted> {
  const settled = await approvals.settled(request);
  if (!settled) return { outcome: "ask", approval: (await approvals.seek(request)).id };
  const { verdict: outcome, approval, grant } = settled;
  await ledger.record([verdictDraft(request, settled)], { with: settled.change ? [settled.change] : [] });
  approvals.announce();
  return { outcome, ...(approval && { approval: approval.id }), ...(grant && { grant: grant.id }) };
}

async function revoke(tenant: string, by: string): Promise<unknown> {
  const grants = await approvals.grants.list({ tenant });
  const [inForce] = grants.filter(({ revoked_at }) => revoked_at === undefined);
  return inForce && approvals.grants.revoke(inForce.id, { by, roles: ["approver"], tenant });
}

/** Waits until webhooks have got everything; gives every change there is. */
async function drain(): Promise<unknown> {
  while ((await approvals.deliveries({ limit: 1 })).length > 0)
    await new Promise((resolve) => setTimeout(resolve, 5));
  const all = [];
  for (;;) {
    const page = await approvals.changes({ after: all.at(-1)?.seq ?? 0, limit: 1_000 });
    all.push(...page);
    if (page.length < 1_000) return all;
  }
}
