import type { TargetHints } from "../../events.ts";
import { domainOf } from "./domain.ts";
import { INTENT_RULES, type IntentName } from "./rules.ts";
import { targetIn } from "./target.ts";

/** What somebody wants, how sure that is, and what it is about. */
export interface DetectedIntent {
  readonly intent: IntentName;
  /** From 0 to 1. */
  readonly confidence: number;
  readonly target: TargetHints;
}

/** As much of a prompt as is looked at; what somebody wants stands at its beginning or its end. */
const LOOKED_AT = 2_000;
const COURTESY =
  /^\s*(?:(?:please|now|then|ok(?:ay)?|and|just|hey|hi)[\s,]+|(?:can|could|would|will) you (?:please )?|let'?s |i(?:'d like| want| need)(?: you)? to )+/;
/** How much more a sign counts where a sentence begins. */
const LEADING = 1.6;
const UNSURE = 0.2;

/** Tells what a prompt asks for, by its words alone: the same prompt, the same intent. */
export function detectIntent(whole: string): DetectedIntent {
  const prompt =
    whole.length <= 2 * LOOKED_AT ? whole : `${whole.slice(0, LOOKED_AT)}\n${whole.slice(-LOOKED_AT)}`;
  const sentences = sentencesIn(prompt);
  const [first, second] = INTENT_RULES.map(({ intent, signs }) => ({
    intent,
    score: scoreOf(sentences, signs),
  })).toSorted((left, right) => right.score - left.score);
  const intent = first !== undefined && first.score > 0 ? first.intent : "general";
  const confidence = intent === "general" ? UNSURE : certainty(first?.score ?? 0, second?.score ?? 0);
  return { intent, confidence, target: { ...targetIn(prompt), domain: domainOf(prompt, intent) } };
}

function sentencesIn(prompt: string): readonly string[] {
  return prompt
    .toLowerCase()
    .split(/(?<=[.!?;])\s+|\n+/)
    .map((sentence) => sentence.replace(COURTESY, ""));
}

function scoreOf(sentences: readonly string[], signs: readonly (readonly [RegExp, number])[]): number {
  return signs.reduce((sum, [sign, weight]) => {
    const found = sentences
      .map((sentence) => sign.exec(sentence)?.index)
      .filter((index) => index !== undefined);
    if (found.length === 0) return sum;
    return sum + weight * (found.includes(0) ? LEADING : 1);
  }, 0);
}

/** Sure when much speaks for it and nothing comes near. */
function certainty(score: number, rival: number): number {
  const strength = score / (score + 1);
  const lead = (score - rival) / score;
  return Math.round((0.3 + 0.4 * strength + 0.3 * lead) * 100) / 100;
}
