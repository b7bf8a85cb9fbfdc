import type { AhpEvent, Decision, EventCall, Handlers } from "@reins/ahp";
import { isContract } from "@reins/ahp";
import type { Ledger } from "@reins/ledger";
import type { Approvals } from "../approvals/approvals.ts";
import type { Setting, Supervisor } from "../decision/supervisor.ts";
import type { Identity } from "../identity/identity.ts";
import type { PolicyKeeper } from "../policies/policy-keeper.ts";
import { sessionKey } from "../record/session-key.ts";
import type { Runs } from "../runs/runs.ts";
import { asDecision } from "./decision.ts";
import { answerQuestion } from "./questions.ts";
import { principalOf, subjectOf } from "./subject.ts";

/** What stands behind the AHP endpoint. */
export interface SupervisorParts {
  readonly supervisor: Supervisor;
  readonly identity: Identity;
  readonly approvals: Approvals;
  readonly policies: Pick<PolicyKeeper, "policyFor" | "roster" | "status">;
  readonly runs: Runs;
  readonly ledger: Ledger;
  /** Where the work of a session takes place, as far as the harness knows. */
  readonly settingOf: (event: AhpEvent) => Setting;
}

const BLOCKING = new Set(["pre_action", "pre_prompt"]);

/**
 * The supervisor as an AHP harness. Agents outside of Reins ask and honour the answer, so what is decided here is
 * `asked`. The typed families keep the protocol's own defaults.
 */
export function supervisorHandlers(parts: SupervisorParts): Handlers {
  return {
    event: (event, call) => decide(parts, event, call),
    notification: (event, call) => note(parts, event, call),
    query: (request, call) => answerQuestion(parts, request, call),
  };
}

async function decide(parts: SupervisorParts, event: AhpEvent, call: EventCall): Promise<Decision> {
  const { identity, policies, supervisor } = parts;
  const principal = await principalOf(identity, call);
  if (!BLOCKING.has(event.event_type)) {
    await note(parts, event, call);
    return { decision: "allow" };
  }
  const subject = subjectOf(identity, principal, event, policies.roster, "asked");
  return asDecision(await supervisor.decide(event, subject, parts.settingOf(event)));
}

async function note(parts: SupervisorParts, event: AhpEvent, call: EventCall): Promise<void> {
  const { identity, policies, runs, ledger } = parts;
  const principal = await principalOf(identity, call);
  const { event_type, payload } = event;
  if (isContract(event_type)) {
    await runs.note(principal.tenant, event_type, payload);
    return;
  }
  if (event_type !== "session_start" && event_type !== "session_end") return;
  if (event_type === "session_end") await identity.revokeSession(event.session_id, principal);
  const subject = subjectOf(identity, principal, event, policies.roster, "asked");
  await ledger.record(
    [
      {
        quality: "session_lifecycle",
        actor: subject.agent,
        target: subject.session,
        entity_id: sessionKey(subject),
        tags: [event_type],
        payload: { change: event_type, subject: { ...subject } },
      },
    ],
    { durable: false },
  );
}
