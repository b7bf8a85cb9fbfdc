import { type Memory, StoredMemory } from "@reins/bridge";
import type { Harness, Principal } from "@reins/supervisor";
import { memoryOwner } from "../native/memory-owner.ts";

/** What the sessions of a principal's user know: the same memory that the native agent recalls from. */
export function userMemory(
  { store, redact }: Pick<Harness, "store" | "redact">,
  principal: Principal,
): Memory {
  const withoutSecrets = (content: string) => String(redact(content));
  return new StoredMemory({ store, owner: memoryOwner(principal), redact: withoutSecrets });
}
