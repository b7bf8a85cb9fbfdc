import { availableParallelism, loadavg } from "node:os";
import { itemSearch, type Memory } from "@reins/bridge";
import { type Clock, LruCache, systemClock } from "@reins/kit";
import type { ControlCall, ControlPort } from "../agent-dependencies.ts";
import type { DecisionEvents, DecisionEventType, PlanningStrategy } from "../control/events.ts";
import type { MayRead } from "../files/workspace-files.ts";
import { detectIntent, IMPLIED } from "./intent.ts";
import { perceive } from "./perception.ts";

/** With fewer requests than this there is no room for a plan. */
const MIN_REQUESTS = 4;
/** A list of this many tasks is planned as a graph. */
const GRAPH_TASKS = 4;
const MAX_TASKS = 20;
const LIST_ITEM = /^\s*(?:[-*•]|\d+[.)])\s+(.{3,})$/;

/** Chooses how to plan a task: by its list of steps, its intent and the requests that are left. */
export function choosePlanning({
  task_description,
  available_strategies,
  constraints,
}: DecisionEvents["planning"]["payload"]): DecisionEvents["planning"]["decision"] {
  const lines = task_description.split("\n");
  const tasks = lines.flatMap((line) => LIST_ITEM.exec(line)?.[1]?.trim() ?? []).slice(0, MAX_TASKS);
  const wanted = strategyFor(task_description, tasks.length, constraints);
  if (wanted === "none") return { decision: "allow", selected_strategy: "none" };
  const possible = ([wanted, "step_by_step"] as const).find((one) => available_strategies.includes(one));
  const steps = tasks.length > 1 && { planning_template: tasks };
  return { decision: "allow", selected_strategy: possible ?? "none", ...steps };
}

function strategyFor(task: string, count: number, constraints: unknown): Exclude<PlanningStrategy, object> {
  const { max_requests }: { max_requests?: unknown } = Object(constraints);
  if (typeof max_requests === "number" && max_requests < MIN_REQUESTS) return "none";
  if (count >= GRAPH_TASKS) return "graph_planning";
  if (count > 1) return "step_by_step";
  return IMPLIED[detectIntent(task).intent].strategy ?? "none";
}

/** Returns the hint of the problem's intent and the principles of the constitution that share its words. */
export function hintsFor(problem: string, constitution: string): DecisionEvents["reasoning"]["decision"] {
  const { hint } = IMPLIED[detectIntent(problem).intent];
  const principles = principlesIn(constitution)(problem);
  const hints = [...(hint === undefined ? [] : [hint]), ...principles];
  return hints.length > 0 ? { decision: "allow", hints } : { decision: "allow" };
}

/** How many principles become hints. */
const MAX_PRINCIPLES = 3;

type Search = (query: string) => readonly string[];

/** The searches of the constitutions in force, by their texts: most turns are under the same few. */
const searches = new LruCache<string, Search>({ entries: 16, size: 1 << 20 });

/** A search of the items of the lists in a constitution, each on one line. */
function principlesIn(constitution: string): Search {
  const known = searches.get(constitution);
  if (known) return known;
  const items = constitution.split(/^[^\S\n]*(?:\d+[.)]|[-*])\s+/m).slice(1);
  const principles = items.map((item) => {
    const [text = ""] = item.split(/\n\s*\n|^#/m);
    return text.replaceAll("**", "").replace(/\s+/g, " ").trim().slice(0, 300);
  });
  const search = itemSearch(principles, String, MAX_PRINCIPLES);
  searches.set(constitution, search, constitution.length);
  return search;
}

/** Whether a person can answer, and whether cost is approved without asking. */
const PRESENCE = { isPersonThere: true, maySpend: false };
/** The shortest and the longest wait for a limit. */
const PATIENCE = { leastMs: 1_000, mostMs: 60_000 };

interface IdleRules {
  readonly leastIdleMs: number;
  /** Load of the machine per processor. */
  readonly mostLoad: number;
  /** Local hours without background work, such as 22 to 7. */
  readonly quietHours?: { readonly from: number; readonly to: number };
}

const IDLE_RULES: IdleRules = { leastIdleMs: 30_000, mostLoad: 0.8 };

/** Settings of the advisor; each has a default. */
export interface AdvisorOptions {
  readonly memory?: Memory;
  /** Reads the constitution's prose, which hints quote. */
  readonly constitution?: () => string | Promise<string>;
  /** Decides which paths of a workspace perception may read. */
  readonly mayRead?: (workspace: string, call: ControlCall) => MayRead;
  /** The file of the person's own instructions to all agents, by its absolute path. */
  readonly ownInstructions?: string | undefined;
  readonly presence?: Partial<typeof PRESENCE>;
  readonly patience?: Partial<typeof PATIENCE>;
  readonly idle?: Partial<IdleRules>;
  readonly clock?: Pick<Clock, "now">;
  /** Load of the machine per processor. */
  readonly load?: () => number;
  /** Receives the events that expect no decision. */
  readonly onEvent?: ControlPort["report"];
}

type Payload<Type extends DecisionEventType> = DecisionEvents[Type]["payload"];
type Decision<Type extends DecisionEventType> = DecisionEvents[Type]["decision"];
type Decider<Type extends DecisionEventType> = (
  payload: Payload<Type>,
  call: ControlCall,
) => Decision<Type> | Promise<Decision<Type>>;

/**
 * The default harness: decides AHP's typed families without a model, for the native agent and for `/ahp`. An operator's
 * harness replaces it family by family. Prompts are allowed here; a host decides them by policy.
 */
export class Advisor implements ControlPort {
  readonly report: ControlPort["report"];
  readonly #deciders: { readonly [Type in DecisionEventType]: Decider<Type> };

  constructor(options: AdvisorOptions = {}) {
    const { memory, constitution = () => "", mayRead, clock = systemClock, load = systemLoad } = options;
    this.report = options.onEvent ?? (() => undefined);
    this.#deciders = {
      pre_prompt: () => ({ decision: "allow" }),
      intent_detection({ prompt }) {
        const { intent, confidence, target } = detectIntent(prompt);
        return { decision: "allow", detected_intent: intent, confidence, target_hints: target };
      },
      async context_perception(payload, call) {
        const { workspace } = payload.context;
        const seen = await perceive(payload, mayRead?.(workspace, call), options.ownInstructions);
        return { decision: "allow", injected_context: seen };
      },
      async memory_recall({ query, max_results: limit, working_directory: workspace }) {
        const found = (await memory?.recall({ query, limit, workspace })) ?? [];
        const facts = found.map(({ content, source, confidence }) => ({ content, source, confidence }));
        return { decision: "allow", injected_facts: facts };
      },
      planning: choosePlanning,
      reasoning: async (payload) => hintsFor(payload.problem_statement, await constitution()),
      rate_limit: (payload) => decideRateLimit(payload, { ...PATIENCE, ...options.patience }),
      confirmation: (payload) => decideConfirmation(payload, { ...PRESENCE, ...options.presence }),
      idle: (payload) => decideIdle(payload, clock.now(), load(), { ...IDLE_RULES, ...options.idle }),
    };
  }

  async ask<Type extends DecisionEventType>(type: Type, payload: Payload<Type>, call: ControlCall) {
    return this.#deciders[type](payload, call);
  }

  /** Does nothing: there is no limit to count towards. */
  async charge(): Promise<void> {}
}

/** Waits as long as the limit asks, within bounds. Token limits are queued: requests in parallel make them worse. */
function decideRateLimit(
  { limit_type, retry_after_ms }: Payload<"rate_limit">,
  { leastMs, mostMs }: typeof PATIENCE,
): Decision<"rate_limit"> {
  if (limit_type === "tool_execution_limit")
    return { decision: "skip", reason: "the tool has been used as often as it may be" };
  const seconds = Math.ceil(retry_after_ms / 1_000);
  if (retry_after_ms > mostMs)
    return { decision: "skip", reason: `the limit lasts another ${seconds} seconds; try again then` };
  if (limit_type === "llm_token_limit") return { decision: "queue" };
  return { decision: "retry", retry_after_ms: Math.max(leastMs, retry_after_ms) };
}

/** Leaves the decision to a person; without one, approves only cost that was allowed beforehand. */
function decideConfirmation(
  { confirmation_type, message }: Payload<"confirmation">,
  { isPersonThere, maySpend }: typeof PRESENCE,
): Decision<"confirmation"> {
  if (confirmation_type === "cost_confirm" && maySpend) return { decision: "approve" };
  if (isPersonThere) return { decision: "escalate" };
  return { decision: "reject", reason: `no person is present to confirm it: ${message}` };
}

function decideIdle(
  { idle_duration_ms }: Payload<"idle">,
  now: Date,
  load: number,
  { leastIdleMs, mostLoad, quietHours }: IdleRules,
): Decision<"idle"> {
  if (idle_duration_ms < leastIdleMs) return { decision: "defer", reason: "the session was active just now" };
  const { from, to } = quietHours ?? { from: 0, to: 0 };
  const [hour, crossesMidnight] = [now.getHours(), from > to];
  if (crossesMidnight ? hour >= from || hour < to : hour >= from && hour < to)
    return { decision: "defer", reason: "these are quiet hours" };
  return load > mostLoad ? { decision: "defer", reason: "the machine is busy" } : { decision: "allow" };
}

function systemLoad(): number {
  return (loadavg()[0] ?? 0) / availableParallelism();
}
