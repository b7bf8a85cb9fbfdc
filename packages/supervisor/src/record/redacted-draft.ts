import type { Draft } from "@reins/ledger";
import { type Redact, redact as redactKnown } from "../redaction/redact.ts";

/** A draft as it is recorded: whatever an agent or a person said in it without its secrets. */
export function withoutSecrets(draft: Draft, redact: Redact = redactKnown): Draft {
  const target = String(redact(draft.target));
  const payload = redact(draft.payload);
  if (!draft.tags) return { ...draft, target, payload };
  return { ...draft, target, payload, tags: draft.tags.map((tag) => String(redact(tag))) };
}
