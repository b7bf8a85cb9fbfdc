import type { Decision, Handlers } from "../../src/index.ts";
import { isObject } from "../../src/wire/decode.ts";
import type { Holds } from "./holds.ts";

/**
 * A harness that does as an event's payload says: `nonce` comes back in the metadata of the allow, which proves that
 * it was decided here; `pid` adds the process; `hold` waits to be released first; `filler` makes the reply so many characters longer; `fail`
 * throws. Every family is supported.
 */
export function tortureHandlers(holds: Holds): Handlers {
  return {
    event: ({ payload }) => decide(payload, holds),
    notification: ({ payload }) => void (isObject(payload) && payload.fail && fail()),
    query: ({ payload }) => ({ answer: payload ?? null }),
    idle: () => ({ decision: "allow" }),
    intent_detection: () => ({ decision: "allow", detected_intent: "locate", confidence: 0.9 }),
    context_perception: () => ({ decision: "allow", injected_context: { facts: [] } }),
    memory_recall: async () => ({ decision: "allow", injected_facts: [] }),
    planning: async () => ({ decision: "allow", selected_strategy: "none" }),
    reasoning: () => fail(),
    rate_limit: () => ({ decision: "retry", retry_after_ms: 5 }),
    confirmation: async () => ({ decision: "approve" }),
  };
}

async function decide(payload: unknown, holds: Holds): Promise<Decision> {
  if (!isObject(payload)) return { decision: "allow" };
  const { nonce, hold, pid, filler, fail: fails } = payload;
  if (fails) fail();
  if (hold) await holds.wait();
  const length = typeof filler === "number" && filler >= 0 && filler <= 1e7 ? filler : 0;
  return {
    decision: "allow",
    metadata: {
      ...(nonce === undefined ? {} : { nonce }),
      ...(pid ? { pid: process.pid } : {}),
      ...(length > 0 ? { filler: "x".repeat(length) } : {}),
    },
  };
}

function fail(): never {
  throw new Error("told to fail");
}
