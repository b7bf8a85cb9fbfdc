import { errorMessage } from "@reins/kit";
import type {
  DecisionEvents,
  Fact,
  InjectedContext,
  PerceptionDomain,
  PerceptionIntent,
  PerceptionTarget,
  PlanningStrategy,
} from "../control/events.ts";
import { isNested } from "../files/guides.ts";
import { briefText } from "./prompt-text.ts";
import type { Turn } from "./turn.ts";

/** What is known before the model is asked. */
export interface Brief {
  readonly intent: string;
  readonly context: InjectedContext | undefined;
  readonly recalled: readonly Fact[];
  readonly strategy: PlanningStrategy;
  /** Steps of a plan, where the planner provides them. */
  readonly template: unknown;
  readonly hints: readonly string[];
  /** Replaces the task of the prompt. */
  readonly modifiedTask: string | undefined;
}

/** A blocked prompt with its reason. */
export interface Refusal {
  readonly refused: string;
}

type Detected = Extract<DecisionEvents["intent_detection"]["decision"], { decision: "allow" }>;

const PERCEPTIONS: ReadonlyMap<string, PerceptionIntent> = new Map<string, PerceptionIntent>([
  ["explore", "explore"],
  ["read", "retrieve"],
  ["explain", "understand"],
  ["search", "locate"],
  ["fix", "reason"],
  ["design", "compare"],
  ["review", "validate"],
  ["test", "validate"],
]);

const DOMAINS: ReadonlySet<string> = new Set<PerceptionDomain>([
  "coding",
  "writing",
  "data_analysis",
  "research",
  "project_management",
  "conversation",
  "operations",
  "security",
  "general",
]);

const STRATEGIES: readonly PlanningStrategy[] = [
  "none",
  "step_by_step",
  "tree_of_thoughts",
  "graph_planning",
];
const MAX_FACTS = 8;
const MAX_SNIPPETS = 12;
const MAX_CONTEXT = 16_000;
/** The most refinements of a perception. */
const REFINEMENTS = 2;
const MAX_TASK = 8_000;

/**
 * Asks the supervisor before the first request: for the intent, context, memory, a plan and hints. Except for the
 * intent, a decision that fails is skipped.
 */
export async function gather(turn: Turn): Promise<Brief | Refusal> {
  const { sessionId, toolContext } = turn.setting;
  const workspace = toolContext.roots.cwd;
  const prompt = turn.words.slice(0, MAX_TASK);
  const detected = await turn.ask("intent_detection", { session_id: sessionId, prompt, workspace });
  if (detected.decision === "block") return { refused: detected.reason };
  const intent = detected.detected_intent;
  if (intent === "conversation") return briefOf(intent);
  turn.setStatus("planning");
  const [context, recalled, planning, reasoning] = await Promise.all([
    advice(turn, () => perceive(turn, detected)),
    advice(turn, () => recall(turn, prompt)),
    advice(turn, () =>
      turn.ask("planning", {
        session_id: sessionId,
        task_description: prompt,
        available_strategies: STRATEGIES,
        constraints: { max_requests: turn.setting.limits.requests, read_only: turn.setting.mode === "plan" },
      }),
    ),
    advice(turn, () =>
      turn.ask("reasoning", { session_id: sessionId, reasoning_type: "re_act", problem_statement: prompt }),
    ),
  ]);
  if (reasoning?.decision === "block") turn.thoughtLevel = "off";
  return briefOf(intent, {
    context,
    recalled: recalled ?? [],
    hints: [
      ...(reasoning?.decision === "allow" ? (reasoning.hints ?? []) : []),
      ...(planning?.decision === "modify" ? (planning.hints ?? []) : []),
    ],
    ...(planning?.decision === "allow" && {
      strategy: planning.selected_strategy,
      template: planning.planning_template,
    }),
    ...(planning?.decision === "modify" && { modifiedTask: planning.modified_task }),
  });
}

function briefOf(intent: string, more: Partial<Brief> = {}): Brief {
  return {
    intent,
    context: undefined,
    recalled: [],
    strategy: "none",
    template: undefined,
    hints: [],
    modifiedTask: undefined,
    ...more,
  };
}

/** Skips a decision that fails, and reports the error. */
async function advice<Value>(turn: Turn, ask: () => Promise<Value>): Promise<Value | undefined> {
  try {
    return await ask();
  } catch (error) {
    turn.signal.throwIfAborted();
    const message = errorMessage(error);
    turn.report("error", { session_id: turn.setting.sessionId, code: "no_advice", message, retryable: true });
    turn.setting.onFault(error);
    return undefined;
  }
}

async function perceive(
  turn: Turn,
  { detected_intent, target_hints }: Detected,
): Promise<InjectedContext | undefined> {
  const { sessionId, toolContext } = turn.setting;
  const { target_type, target_name, domain } = target_hints ?? {};
  let intent = PERCEPTIONS.get(detected_intent) ?? "understand";
  let target: PerceptionTarget = {
    location: { path: pathIn(target_type, target_name), location_type: target_type ?? "folder" },
  };
  for (let attempt = 0; attempt <= REFINEMENTS; attempt += 1) {
    const decision: DecisionEvents["context_perception"]["decision"] = await turn.ask("context_perception", {
      session_id: sessionId,
      intent,
      target,
      domain: domainIn(domain),
      context: { workspace: toolContext.roots.cwd, query: turn.words.slice(0, MAX_TASK) },
      constraints: { max_results: MAX_SNIPPETS, max_context_length: MAX_CONTEXT, include_sources: true },
    });
    if (decision.decision === "allow") return decision.injected_context;
    if (decision.decision === "block") return undefined;
    intent = decision.refined_intent ?? intent;
    target = decision.refined_target ?? target;
  }
  return undefined;
}

/** The most folders that are looked at for instructions after one step. */
const MAX_FOLDERS = 8;

/** The instructions of the folders in which files were used, as context for the next request; those that it has are left out. */
export async function instructionsOfUsed(turn: Turn): Promise<string> {
  const { sessionId, toolContext } = turn.setting;
  const folders = (await turn.takeUsed()).slice(0, MAX_FOLDERS);
  const found = await Promise.all(
    folders.map((path) =>
      advice(turn, () =>
        turn.ask("context_perception", {
          session_id: sessionId,
          intent: "retrieve",
          target: { location: { path, location_type: "folder" } },
          context: { workspace: toolContext.roots.cwd },
          constraints: { max_results: MAX_SNIPPETS, max_context_length: MAX_CONTEXT, include_sources: true },
        }),
      ),
    ),
  );
  const snippets = found.flatMap((decision) =>
    decision?.decision === "allow" ? (decision.injected_context.file_contents ?? []) : [],
  );
  const file_contents = [...new Map(snippets.filter(isNested).map((one) => [one.path, one])).values()];
  return briefText(briefOf("read", { context: { facts: [], file_contents } }), turn.context);
}

async function recall(turn: Turn, query: string): Promise<readonly Fact[]> {
  const decision = await turn.ask("memory_recall", {
    session_id: turn.setting.sessionId,
    query,
    memory_type: "fact",
    max_results: MAX_FACTS,
    working_directory: turn.setting.toolContext.roots.cwd,
  });
  return decision.decision === "allow" ? decision.injected_facts : [];
}

function pathIn(type: string | null | undefined, name: string | null | undefined): string {
  return (type === "file" || type === "folder") && name ? name : ".";
}

function domainIn(domain: string | null | undefined): PerceptionDomain {
  return isDomain(domain) ? domain : "general";
}

function isDomain(domain: string | null | undefined): domain is PerceptionDomain {
  return typeof domain === "string" && DOMAINS.has(domain);
}
