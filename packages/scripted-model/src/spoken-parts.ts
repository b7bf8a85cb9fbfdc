import { randomUUID } from "node:crypto";
import type { Conversation } from "./conversation.ts";
import type { SpokenPart } from "./dialect/dialect.ts";
import { type Wordings, wordIntent } from "./intent.ts";
import type { Part } from "./step.ts";

/** A part in the words of the asking agent, or a wait. */
export type ReadyPart = SpokenPart | (Part & { readonly kind: "hold" });

/** Puts parts into the asking agent's words. Intents it has no tool for become texts that say so, and are listed. */
export function speak(
  parts: readonly Part[],
  wordings: readonly Wordings[],
  conversation: Conversation,
): { readonly parts: readonly ReadyPart[]; readonly unmet: readonly string[] } {
  const unmet: string[] = [];
  const ready = parts.map((part): ReadyPart => {
    if (part.kind === "call") return { ...part, id: callId() };
    if (part.kind !== "intent") return part;
    const worded = wordIntent(part.intent, wordings, conversation);
    if (worded) return { kind: "call", id: callId(), ...worded };
    unmet.push(part.intent.name);
    return { kind: "text", pieces: [`There is no tool for ${part.intent.name}.`] };
  });
  return { parts: ready, unmet };
}

// Agents keep calls by their id over restarts, so it may not come twice.
function callId(): string {
  return randomUUID().replaceAll("-", "").slice(0, 24);
}
