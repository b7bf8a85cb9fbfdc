/** How an agent takes part in being governed. Third-party agents and the native one differ in this data alone. */
export interface AgentProfile {
  /** When prompts are decided: once a turn by the governor, or by the agent for every request to its model. */
  readonly decidesPrompts: "per_turn" | "per_request";
  /** Where the constitution and the mandate go: into the prompt, or into the system prompt of every request. */
  readonly instructions: "in_prompt" | "in_system_prompt";
  /** Whether the agent interprets prompt texts (`/command`, `@path`) or treats all of it as text. */
  readonly interpretsPrompts: boolean;
  /** Whether it takes a prompt in a turn under way, or each waits for a turn of its own. */
  readonly steering: "in_turn" | "own_turn";
  /** What it can do with a verdict that modifies a call: act on the modified arguments, or nothing. */
  readonly modifiedCalls: "performed" | "inexpressible";
  /** Whether a permission request has the arguments of its call, or an update may bring them right after it. */
  readonly argumentsCome: "with_request" | "later";
  /** When its model learns why something was refused: with the answer, or in front of the next prompt. */
  readonly refusals: "with_answer" | "next_prompt";
  /** Who reports runs and tasks: the governor derives them from turns and plans, or the agent reports its own. */
  readonly runs: "derived" | "reported";
  /** Whether its updates are checked for work without a verdict, and its messages for names reserved to Reins. */
  readonly isObserved: boolean;
  /** Its methods beyond sessions and prompts, where they are fixed; else its capabilities announce them. */
  readonly methods: ReadonlySet<string> | undefined;
}

export const THIRD_PARTY: AgentProfile = {
  decidesPrompts: "per_turn",
  instructions: "in_prompt",
  interpretsPrompts: true,
  steering: "own_turn",
  modifiedCalls: "inexpressible",
  argumentsCome: "later",
  refusals: "next_prompt",
  runs: "derived",
  isObserved: true,
  methods: undefined,
};

/** The native agent asks before every tool and model request, so nothing of it is seen only afterwards. */
export const NATIVE: AgentProfile = {
  decidesPrompts: "per_request",
  instructions: "in_system_prompt",
  interpretsPrompts: false,
  steering: "in_turn",
  modifiedCalls: "performed",
  argumentsCome: "with_request",
  refusals: "with_answer",
  runs: "reported",
  isObserved: false,
  methods: new Set(["session/set_mode", "session/set_config_option"]),
};
