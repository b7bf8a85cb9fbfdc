import { BridgeError } from "../bridge-error.ts";
import type { MemoryFact, NewFact } from "./memory.ts";

/** How long a fact may be. */
export const MAX_FACT_LENGTH = 4_096;
/** How many facts one owner may have; the oldest make room. */
export const MAX_FACTS = 10_000;

/** How facts get their ids and times. */
export interface FactMarks {
  readonly newId: () => string;
  readonly now: () => Date;
}

/** A fact as it is kept, or why it cannot be. */
export function keptFact(
  { content, source, confidence = 1, workspace = "" }: NewFact,
  { newId, now }: FactMarks,
): MemoryFact {
  const words = content.trim();
  if (words === "" || words.length > MAX_FACT_LENGTH)
    throw new BridgeError(
      "invalid",
      `a fact has 1 to ${MAX_FACT_LENGTH} characters; keep longer things in a file`,
    );
  if (!(confidence >= 0 && confidence <= 1))
    throw new BridgeError("invalid", "how sure a fact is goes from 0 to 1");
  return { id: newId(), content: words, source, confidence, workspace, created_at: now().toISOString() };
}

/** Whether a fact holds where somebody works. */
export function holdsIn(workspace: string | undefined, fact: Pick<MemoryFact, "workspace">): boolean {
  if (fact.workspace === "" || workspace === undefined) return true;
  return workspace === fact.workspace || workspace.startsWith(`${fact.workspace}/`);
}
