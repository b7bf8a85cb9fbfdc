import type { Draft } from "@reins/ledger";
import type { Random } from "../../../scripts/torture/random.ts";

const QUALITIES = [
  "tool_call",
  "tool_result",
  "policy_verdict",
  "mailbox_inject",
  "session_lifecycle",
] as const;
const ATTESTED = ["turn", "approval", "kill"] as const;
const CHARACTERS = 'ab z09_"\\/\u0000\u001f\u007f\u0080é\u2028\u20ac\ufb33\uffee😀𝄞';

/** Something to record, of any shape an entry can have. One in a hundred is signed by its actor. */
export function randomDraft(random: Random): Draft {
  const quality = random.chance(0.01) ? random.pick(ATTESTED) : random.pick(QUALITIES);
  return {
    quality,
    actor: `agent-${random.int(20)}`,
    target: text(random),
    entity_id: `agent:${random.int(200)}`,
    source: text(random),
    tags: Array.from({ length: random.int(3) }, () => text(random)),
    payload: value(random, 4),
  };
}

function value(random: Random, depth: number): unknown {
  switch (random.int(depth > 0 ? 7 : 5)) {
    case 0:
      return null;
    case 1:
      return random.chance(0.5);
    case 2:
      return number(random);
    case 3:
    case 4:
      return text(random);
    case 5:
      return Array.from({ length: random.int(4) }, () => value(random, depth - 1));
    default:
      return Object.fromEntries(
        Array.from({ length: random.int(5) }, () => [text(random), value(random, depth - 1)]),
      );
  }
}

/** Any finite number, the odd ones as likely as the others. */
function number(random: Random): number {
  const view = new DataView(random.bytes(8).slice().buffer);
  const any = view.getFloat64(0);
  return random.pick(
    [random.int(1_000), -random.int(1_000), any, any / 1e200, 2 ** 53, -0, 1e21, 5e-324].filter(
      Number.isFinite,
    ),
  );
}

function text(random: Random): string {
  const characters = [...CHARACTERS];
  return Array.from({ length: random.int(12) }, () => random.pick(characters)).join("");
}
