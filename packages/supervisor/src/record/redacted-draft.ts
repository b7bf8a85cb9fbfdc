import type { Draft } from "@reins/ledger";
import { type Redact, redact as redactKnown } from "../redaction/redact.ts";

/** A draft as it is recorded: whatever an agent or a person said in it without its secrets. */
export function withoutSecrets(draft: Draft, redact: Redact = redactKnown): Draft {
  return {
    ...draft,
    target: String(redact(draft.target)),
    ...(draft.tags && { tags: draft.tags.map((tag) => String(redact(tag))) }),
    payload: redact(draft.payload),
  };
}
