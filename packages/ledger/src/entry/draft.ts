import type { Clock } from "@reins/kit";
import { LedgerError } from "../ledger-error.ts";
import type { ParentlessContent } from "../tables/prepared-entry.ts";
import { EntryQuality, isAttested, SYSTEM, type ZkStark } from "./entry.ts";

/** What a caller records. The ledger adds time, parents, signature and content id. */
export interface Draft {
  readonly quality: EntryQuality;
  /** Who acted. */
  readonly actor: string;
  /** The session or tool it is about. */
  readonly target: string;
  readonly payload: unknown;
  /** The session it belongs to; without one it is the system's. */
  readonly entity_id?: string;
  /** The session that produced it; by default the one it belongs to. */
  readonly source?: string;
  readonly tags?: readonly string[];
  /** Who alone may read the payload; it is sealed for them. */
  readonly audience?: string;
  /** Which parts of the payload are kept beside the ledger, where they can be erased. */
  readonly isPrivate?: (value: unknown, path: readonly (string | number)[]) => boolean;
  /** What was checked, for entries that their actor signs. */
  readonly rules_checked?: readonly string[];
  readonly predicate_results?: readonly boolean[];
  readonly proof?: ZkStark;
}

/** The content of a draft, stamped and checked but for its payload, which is when it is written. */
export function contentOf(draft: Draft, clock: Clock): ParentlessContent {
  const entity_id = draft.entity_id ?? SYSTEM;
  const content = {
    entity_id,
    target: draft.target,
    quality: draft.quality,
    timestamp: clock.now().toISOString(),
    source: draft.source ?? entity_id,
    actor: draft.actor,
    tags: [...(draft.tags ?? [])],
    payload: draft.payload,
    // The actor signs it, which replaces any other proof.
    proof: isAttested(draft.quality) ? null : (draft.proof ?? null),
    envelope: null,
  };
  checkTexts(content);
  draft.rules_checked?.forEach(checkText);
  if (draft.rules_checked?.length !== draft.predicate_results?.length) {
    throw new LedgerError("invalid", "every rule that was checked has one result");
  }
  return content;
}

const QUALITIES: ReadonlySet<string> = new Set(EntryQuality.options);

/** What the schema of an entry says of its texts, checked without it: this runs for every entry there is. */
function checkTexts({ entity_id, actor, target, source, tags, quality }: ParentlessContent): void {
  if (!QUALITIES.has(quality)) throw new LedgerError("invalid", `there is no quality "${quality}"`);
  if (entity_id === "" || actor === "")
    throw new LedgerError("invalid", "an entry names its session and its actor");
  checkText(entity_id);
  checkText(actor);
  checkText(target);
  checkText(source);
  tags.forEach(checkText);
}

function checkText(text: unknown): void {
  if (typeof text !== "string") throw new LedgerError("invalid", `${typeof text} where a text is expected`);
  if (!text.isWellFormed()) throw new LedgerError("invalid", "a text holds half of a surrogate pair");
}
