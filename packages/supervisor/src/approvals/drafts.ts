import { type Draft, SYSTEM } from "@reins/ledger";
import { sessionKey } from "../record/drafts.ts";
import type { Approval, ApprovalAnswer } from "./approval.ts";
import { approvalTag, grantTag } from "./approval.ts";
import type { Grant } from "./grants.ts";

/** What is recorded when a question is put. */
export function askedDraft(approval: Omit<Approval, "entry">, facts_hash: string): Draft {
  const { user, agent, chain, session, turn, event_type, tool, enforcement, rule } = approval;
  return draftOf(approval, SYSTEM, {
    facts_hash,
    user,
    agent,
    chain,
    session,
    ...(turn !== undefined && { turn }),
    event_type,
    tool,
    enforcement,
    ...(rule !== undefined && { rule }),
    reason: approval.reason,
    options: approval.options,
    quorum: approval.quorum,
    ...(approval.approvers && { approvers: approval.approvers }),
    ...(approval.four_eyes && { four_eyes: true }),
    expires_at: approval.expires_at,
  });
}

/** What is recorded, and signed by the person, when they answered. `approval` is as the answer left it. */
export function answeredDraft(
  approval: Approval,
  answer: ApprovalAnswer,
  { facts_hash, grant }: { readonly facts_hash: string | undefined; readonly grant: Grant | undefined },
): Draft {
  const details = {
    ...(facts_hash !== undefined && { facts_hash }),
    answer: { ...answer },
    ...(grant && {
      grant: {
        ...{ id: grant.id, binding: grant.binding, expires_at: grant.expires_at ?? null },
        ...(grant.prefix && { prefix: grant.prefix }),
      },
    }),
  };
  const draft = draftOf(approval, answer.by, details);
  return grant ? { ...draft, tags: [...(draft.tags ?? []), grantTag(grant.id)] } : draft;
}

/** What is recorded when an approval ends without being used. */
export function endedDraft(approval: Approval, reason: string): Draft {
  return draftOf(approval, SYSTEM, { reason });
}

/** What is recorded, and signed by the person, when a grant is taken back. */
export function revokedDraft(grant: Grant, by: string, reason: string): Draft {
  return {
    quality: "approval",
    actor: by,
    target: grant.tool,
    tags: ["grant", grantTag(grant.id)],
    payload: {
      grant: grant.id,
      state: "revoked",
      tenant: grant.tenant,
      binding: grant.binding,
      reason,
    },
  };
}

function draftOf(approval: Omit<Approval, "entry">, actor: string, details: object): Draft {
  const { id, state, tenant, binding, tool } = approval;
  return {
    quality: "approval",
    actor,
    target: tool,
    entity_id: sessionKey(approval),
    tags: ["approval", approvalTag(id)],
    payload: { approval: id, state, tenant, binding, ...details },
  };
}
