import type { ExplainRequest } from "@reins/api";
import type { z } from "zod";

/** How well an agent may be known. */
export const TRUSTS = ["unknown", "registered", "standing"] as const;
/** How far a verdict may be enforced. */
export const ENFORCEMENTS = ["performed", "confined", "asked", "observed"] as const;

/** An action that did not happen, as it is written in the form. Empty is left to the server. */
export interface Hypothesis {
  readonly tool: string;
  readonly arguments: string;
  readonly agent: string;
  readonly trust: string;
  readonly enforcement: string;
  readonly cwd: string;
  readonly event_type: string;
}

/** The question to the server that a form makes. */
export function hypothesisOf(given: Hypothesis): z.input<typeof ExplainRequest> {
  return {
    event: {
      tool: given.tool,
      event_type: given.event_type || undefined,
      arguments: argumentsOf(given.arguments),
    },
    subject: {
      agent: given.agent || undefined,
      trust: TRUSTS.find((trust) => trust === given.trust),
      enforcement: ENFORCEMENTS.find((level) => level === given.enforcement),
    },
    cwd: given.cwd || undefined,
  };
}

function argumentsOf(text: string): unknown {
  if (text.trim() === "") return {};
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new Error("The arguments are not JSON. Write them as the agent would send them.", { cause: error });
  }
}
