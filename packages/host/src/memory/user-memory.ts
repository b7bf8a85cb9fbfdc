import { type Memory, StoredMemory } from "@reins/bridge";
import type { Harness, Principal } from "@reins/supervisor";
import { memoryOwner } from "../native/memory-owner.ts";

/** What the sessions of a principal's user know: the same memory that the native agent recalls from. */
export function userMemory({ store }: Pick<Harness, "store">, principal: Principal): Memory {
  return new StoredMemory({ store, owner: memoryOwner(principal) });
}
