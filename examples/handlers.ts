// Rules of your own, for `reins ahp serve`:
//
//   npm run reins -- ahp serve --http --handlers examples/handlers.ts
//   npm run reins -- ahp send pre_action --to http://127.0.0.1:18789/ahp --payload '{"tool_name":"rm"}'
import type { AhpEvent, Decision, Handlers } from "@reins/ahp";

/** The tools that need nobody's leave. */
const HARMLESS = ["read_file", "list_files", "search"];

export default {
  /** `pre_action`, `pre_prompt`, and everything in a batch. */
  event(event): Decision {
    return event.event_type === "pre_action" ? decide(toolOf(event)) : { decision: "allow" };
  },

  /** Events that only report. */
  notification(event) {
    console.error(`${event.agent_id} reports ${event.event_type}`);
  },

  /** A family with a decision of its own; the payload has been checked. */
  confirmation({ message }) {
    return { decision: "reject", reason: `Nobody is here to answer: ${message}` };
  },
} satisfies Handlers;

function decide(tool: string): Decision {
  if (HARMLESS.includes(tool)) return { decision: "allow" };
  if (tool === "rm") return { decision: "block", reason: "destructive command requires approval" };
  return { decision: "escalate", reason: `no rule about ${tool}`, escalation_target: "operator" };
}

/** A payload is whatever the agent sent: look before you trust. */
function toolOf({ payload }: AhpEvent): string {
  if (typeof payload !== "object" || payload === null || !("tool_name" in payload)) return "unknown";
  return String(payload.tool_name);
}
