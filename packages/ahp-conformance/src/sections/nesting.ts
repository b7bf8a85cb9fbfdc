import type { Check } from "../check.ts";
import { expectAlive, expectNothingDone, expectResult } from "../expect.ts";
import { HANDSHAKE, requestText } from "../messages.ts";

/** The deepest message that peers can read, counted in arrays and objects, envelope and params included. */
const DEEPEST = 127;
const ABYSS = 100_000;

/** Arrays in arrays in arrays. */
export const nesting: readonly Check[] = [
  {
    id: "nesting-accepted",
    title: `a message ${DEEPEST} levels deep is understood`,
    level: "must",
    run: async (probe) => {
      const id = probe.newId();
      expectResult(await probe.ask(nested(id, DEEPEST), id));
    },
  },
  {
    id: "nesting-survived",
    title: "a deeper message, however deep, does not end the connection",
    level: "must",
    run: async (probe) => {
      expectAlive(await probe.offer(nested("deep", DEEPEST + 1)));
      expectNothingDone(await probe.offer(nested("abyss", ABYSS)), `a message ${ABYSS} levels deep`);
    },
  },
  {
    id: "nesting-refused",
    title: `a message ${DEEPEST + 1} levels deep is not carried out`,
    level: "should",
    run: async (probe) => expectNothingDone(await probe.offer(nested("deep", DEEPEST + 1))),
  },
];

/** A handshake with a member that nobody knows, so that no policy has to look at it. */
function nested(id: string, levels: number): string {
  const inside = levels - 2;
  const text = requestText(id, "ahp/handshake", { ...HANDSHAKE, extra: "NEST" });
  return text.replace('"NEST"', "[".repeat(inside) + "]".repeat(inside));
}
