import { type Executor, registryView } from "../run/executors.ts";
import type { Carried } from "./carrier.ts";
import { CARRIER_TOOL, MOST_ACTIONS } from "./grammar.ts";

/** By which ways an agent declares. */
type Carriers = "native" | "fenced" | "both";

const ROLE = `You work by the Agent Protocol. You declare what is to be done; the runtime decides whether it is allowed, who does it
and in which order, executes it, and shows you the results. You execute nothing yourself. What follows is shown to you as
turns: requests of the user, your earlier declarations, and for each call its result.`;

const NATIVE = `## How to declare

Answer with exactly one call of the tool ${CARRIER_TOOL}. Its arguments have one of three forms:

- {"kind": "act", "message": "…", "calls": [{"id": "read_package", "type": "tool", "name": "read", "args": {…}, "depends": ["other_id"], "result": "summary", "title": "…"}]}
  asks the runtime to execute calls. \`type\` is "tool" or "agent"; \`name\` is an executor of the list below, for an agent
  also "auto". \`depends\` names calls that have to be completed before. Calls that do not depend on each other run in parallel:
  declare together what you can foresee.
- {"kind": "answer", "message": "…"} answers the user in Markdown, when no more work is needed.
- {"kind": "done", "message": "…"} ends the turn.

\`result\` says what you are shown: "summary" (the default), "full", "structured", "on_failure", "on_demand", "adaptive".
Inside \`args\`, {"$ref": "action:<id>.output"} stands for the output of another call of the same declaration.`;

const FENCED = `Write one fenced block at the top level of your message, with the info string \`json agent-protocol\`, and long texts as
Markdown sections after it, which references "md:<heading>" name:

\`\`\`\`text
\`\`\`json agent-protocol
{
  "type": "agent.protocol", "version": "1", "intent": "execute", "title": "…",
  "payload": {
    "type": "action_graph",
    "actions": [
      {"type": "action", "id": "inspect", "title": "…", "description": "…", "reason": "…", "operation": "search",
       "executor": {"type": "tool", "target": "auto", "capabilities": ["search"]}, "input": {…}},
      {"type": "action", "id": "review", "executor": {"type": "agent", "target": "auto", "capabilities": ["code_review"]},
       "depends_on": ["inspect"], "context_refs": ["action:inspect.summary"], "prompt_ref": "md:review.prompt",
       "result_policy": {"return_to_model": "structured"}}
    ]
  }
}
\`\`\`

## review.prompt

What the agent is to do.

## user.visible

One or two sentences for the user about what you are going to do.
\`\`\`\`

- Intents: execute; plan (checks and shows a graph, runs nothing); expand_ref {"refs": [{"ref": "…", "reason": "…", "range": {"around_matches": "text", "context_lines": 20}}]};
  revise {"run_id", "actions"} replaces what has not begun; cancel {"run_id", "actions"?};
  decide {"run_id", "action_id", "decision": "retry" | "continue" | "abort"} answers a run that failed or is blocked.
- "persist": true makes a run last through restarts. Use it for long work, several agents, or where recovery matters.
- failure_policy: "abort" (the default), "continue", "ask_model" or "retry"; when: [{"action": "x", "status": "failed"}];
  loop: {"max_iterations": n, "until": {"field": "path", "equals": value}}; requires_approval: true asks a person first.
- References: md:<heading>, action:<id>.summary, action:<id>.output, input:user.goal, artifact:<id>, runtime://runs/<run>/actions/<id>/output.
  Inside input, {"$ref": "action:<id>.output"} stands for the value.
- A message without a block is your answer to the user.`;

const RULES = `## Rules

- One declaration in a message, complete, with the members shown above and no others. Ids are letters, digits, "_", "-" and ".".
- At most ${MOST_ACTIONS} actions. There are no expressions, no scripts, and no loops without a bound.
- Name a capability rather than guess at an executor. The runtime may refuse or choose another one.
- You are shown summaries and references. Ask for more of a result only when you need it.
- A run that waits for a person is none of your decisions: you cannot approve anything.
- Do not show protocol details to the user unless asked.`;

const FULL_FORM =
  "## The full form\n\nWhere the call says too little (conditions, loops, long prompts, runs that last), make no call.";

/** The text that teaches a model the protocol, with the executors there are. */
export function protocolInstructions({
  executors,
  carriers = "both",
}: {
  readonly executors: readonly Executor[];
  readonly carriers?: Carriers;
}): string {
  const how = {
    native: [NATIVE],
    fenced: ["## How to declare", FENCED],
    both: [NATIVE, `${FULL_FORM} ${FENCED}`],
  }[carriers];
  const registry = `## Executors\n\n\`input\` is the JSON Schema of what an executor takes as \`args\` or \`input\`.\n\n${listed(executors)}`;
  return ["# Agent Protocol", ROLE, ...how, registry, RULES].join("\n\n");
}

/** The registry as JSON, with each schema on one line. */
function listed(executors: readonly Executor[]): string {
  const schemas: string[] = [];
  const replaced = registryView(executors).executors.map((one) => {
    if (!("input" in one)) return one;
    schemas.push(JSON.stringify(one.input));
    return { ...one, input: SCHEMA };
  });
  return JSON.stringify({ executors: replaced }, null, 2).replaceAll(
    `"input": ${JSON.stringify(SCHEMA)}`,
    () => `"input": ${schemas.shift()}`,
  );
}

/** Stands for a schema while the rest is written. */
const SCHEMA = "\u0000";

/** How well an agent keeps to the protocol: counts of its messages. */
export interface Compliance {
  /** Messages that declared something, or tried to. */
  readonly messages: number;
  /** Declarations by a carrier of the protocol, with nothing beside them. */
  readonly compliant: number;
  /** Direct requests that were taken for a declaration. */
  readonly recovered: number;
  /** What was said beside the protocol, recovered requests included. */
  readonly violations: number;
  /** Messages that were refused with a protocol error. */
  readonly errors: number;
}

export const NO_COMPLIANCE: Compliance = {
  messages: 0,
  compliant: 0,
  recovered: 0,
  violations: 0,
  errors: 0,
};

/** Counts one message: what was read from it, or that it was refused. Text declares nothing and counts for nothing. */
export function countMessage(counts: Compliance, message: Carried | "refused"): Compliance {
  if (message !== "refused" && message.kind === "text") return counts;
  const messages = counts.messages + 1;
  if (message === "refused") return { ...counts, messages, errors: counts.errors + 1 };
  const isRecovered = message.kind === "calls" && message.carrier === "recovered";
  return {
    messages,
    compliant: counts.compliant + (message.violations.length === 0 ? 1 : 0),
    recovered: counts.recovered + (isRecovered ? 1 : 0),
    violations: counts.violations + message.violations.length,
    errors: counts.errors,
  };
}
