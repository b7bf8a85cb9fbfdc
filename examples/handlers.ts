// Rules of your own, for `reins ahp serve`:
//
//   npm run reins -- ahp serve --http --handlers examples/handlers.ts
//   npm run reins -- ahp send pre_action --to http://127.0.0.1:18789/ahp --payload '{"tool_name":"rm"}'
import type { AhpEvent, Decision, Handlers } from "@reins/ahp";

/** Tools that are allowed without an approval. */
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

  /** A family with its own type of decision; the payload is validated. */
  confirmation({ message }) {
    return { decision: "reject", reason: `No person is here to answer: ${message}` };
  },
} satisfies Handlers;

function decide(tool: string): Decision {
  if (HARMLESS.includes(tool)) return { decision: "allow" };
  if (tool === "rm") return { decision: "block", reason: "destructive command requires approval" };
  return { decision: "escalate", reason: `no rule about ${tool}`, escalation_target: "operator" };
}

/** Reads the tool's name from a payload, which is unvalidated input of the agent. */
function toolOf({ payload }: AhpEvent): string {
  if (typeof payload !== "object" || payload === null || !("tool_name" in payload)) return "unknown";
  return String(payload.tool_name);
}
