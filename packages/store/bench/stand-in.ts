import type { Store } from "../src/index.ts";

/** Settled in one turn of the event loop, as by the store. */
const CHUNK = 64;

/** Something in the place of a store that keeps nothing: what is measured with it is the callers' own doing. */
export function standIn(): Pick<Store, "commit"> {
  const waiting: (() => void)[] = [];
  const settleSome = () => {
    for (const settle of waiting.splice(0, CHUNK)) settle();
    if (waiting.length > 0) setImmediate(settleSome);
  };
  return {
    commit: () =>
      new Promise((resolve) => {
        if (waiting.length === 0) setImmediate(settleSome);
        waiting.push(() => resolve(Object.assign([0])));
      }),
  };
}
