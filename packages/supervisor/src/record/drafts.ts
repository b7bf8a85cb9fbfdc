import type { Draft } from "@reins/ledger";
import type { Subject } from "@reins/policy";
import type { OpenCall } from "../decision/open-calls.ts";
import { type Redact, redact as redactKnown } from "../redaction/redactor.ts";

/** The mark of an action that no verdict came before. */
export const UNGATED = "ungated";

/** The entry for the begin or end of a session, with what was under way when it ended. */
export function lifecycleDraft(
  subject: Subject,
  change: string,
  unfinished: readonly OpenCall[] = [],
): Draft {
  return {
    quality: "session_lifecycle",
    actor: subject.agent,
    target: subject.session,
    entity_id: sessionKey(subject),
    tags: [change],
    payload: {
      change,
      subject: { ...subject },
      ...(unfinished.length > 0 && {
        unfinished: unfinished.map(({ entry, tool }) => ({ verdict: entry, tool, outcome: "unknown" })),
      }),
    },
  };
}

/** The entry for what came of an action; without an allowed call it is marked as ungated. */
export function resultDraft(
  subject: Subject,
  { tool, outcome }: { readonly tool?: string | undefined; readonly outcome: string },
  call: OpenCall | undefined,
): Draft {
  const name = tool ?? call?.tool ?? "unknown";
  return {
    quality: "tool_result",
    actor: subject.agent,
    target: name,
    entity_id: sessionKey(subject),
    tags: [outcome, ...(call ? [] : [UNGATED])],
    payload: {
      tool: name,
      outcome,
      verdict: call?.entry ?? null,
      enforcement: call ? subject.enforcement : "observed",
    },
  };
}

/** The key of a session's chain in the ledger. Two tenants may use the same names, so theirs is part of it. */
export function sessionKey(subject: Pick<Subject, "agent" | "tenant" | "session" | "session_key">): string {
  const { tenant, agent, session, session_key } = subject;
  // A colon in an agent's own word for itself must not make its key that of another.
  const key = session_key ?? `${agent.replaceAll(":", "%3A")}:ahp:${session}`;
  return `${tenantPrefix(tenant) ?? ""}${key}`;
}

/** How the keys of all sessions of a tenant begin; those of the default one have nothing in common. */
export function tenantPrefix(tenant: string): string | undefined {
  return tenant === "default" ? undefined : `${tenant}/`;
}

/** A draft as it is recorded: whatever an agent or a person said in it without its secrets. */
export function withoutSecrets(draft: Draft, redact: Redact = redactKnown): Draft {
  const target = String(redact(draft.target));
  const payload = redact(draft.payload);
  if (!draft.tags) return { ...draft, target, payload };
  return { ...draft, target, payload, tags: draft.tags.map((tag) => String(redact(tag))) };
}
