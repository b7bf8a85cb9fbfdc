import { join } from "node:path";
import type { Random } from "../../../../scripts/torture/random.ts";

/** The steps of a turn, the files it may write, and its approximate number of messages. */
export interface Errand {
  readonly steps: readonly string[];
  readonly effects: readonly string[];
  readonly messages: number;
}

/** The messages per kind of step; random for a burst. Permission takes a question. */
const MESSAGES: readonly (number | undefined)[] = [1, undefined, 0, 3, 3];

/** A turn of random steps: things said one by one and in bursts, and files written after leave. */
export function errand(random: Random, workspace: string, turn: number, again: readonly string[]): Errand {
  const steps: string[] = [];
  const effects: string[] = [];
  let messages = 0;
  for (let n = 0; n < 3 + random.int(5); n += 1) {
    const kind = random.int(5);
    if (kind === 0) steps.push(`say turn ${turn} step ${n}`);
    const pieces = 1 + random.int(300);
    if (kind === 1) steps.push(`burst ${pieces}`);
    if (kind === 2) steps.push(`sleep ${random.int(15)}`);
    messages += MESSAGES[kind] ?? pieces;
    if (kind < 3) continue;
    const path =
      again.length > 0 && random.chance(0.3) ? random.pick(again) : join(workspace, `effect-${turn}-${n}`);
    steps.push(`write ${path}`);
    effects.push(path);
  }
  return { steps, effects, messages };
}
