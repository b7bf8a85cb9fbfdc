import type { Expected } from "./reference.ts";

/** Where what came back is not what had to. */
export interface Imbalance {
  /** Messages that were not answered as they had to be. */
  readonly unanswered: readonly Expected[];
  /** Replies that nothing asked for, or that came once too often. */
  readonly unasked: readonly string[];
}

/** Compares replies with what was expected, in any order; `undefined` when they agree. */
export function imbalance(expected: readonly Expected[], replies: readonly string[]): Imbalance | undefined {
  const left = new Map<string, number>();
  for (const reply of replies) left.set(reply, (left.get(reply) ?? 0) + 1);
  const unanswered = expected.filter(({ reply }) => {
    if (reply === undefined) return false;
    const count = left.get(reply) ?? 0;
    if (count > 0) left.set(reply, count - 1);
    return count === 0;
  });
  const unasked = [...left].flatMap(([reply, count]) => Array.from({ length: count }, () => reply));
  return unanswered.length === 0 && unasked.length === 0 ? undefined : { unanswered, unasked };
}
