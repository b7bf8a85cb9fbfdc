import type { PlanningDecision, PlanningPayload, PlanningStrategy } from "../events.ts";
import { detectIntent } from "./intent/detect-intent.ts";
import type { IntentName } from "./intent/rules.ts";

/** What each intent is planned by, where nothing speaks against it. */
const BY_INTENT: Readonly<Record<IntentName, Exclude<PlanningStrategy, object>>> = {
  conversation: "none",
  explore: "none",
  read: "none",
  explain: "none",
  search: "none",
  remember: "none",
  message: "none",
  board: "none",
  general: "none",
  run: "none",
  test: "none",
  delete: "step_by_step",
  create: "step_by_step",
  edit: "step_by_step",
  fix: "step_by_step",
  review: "step_by_step",
  delegate: "step_by_step",
  design: "tree_of_thoughts",
};

/** With fewer requests than this there is no room for a plan. */
const REQUESTS_FOR_A_PLAN = 4;
/** A list of tasks this long has parts that do not depend on each other. */
const TASKS_FOR_A_GRAPH = 4;
const MAX_TASKS = 20;
const LIST_ITEM = /^\s*(?:[-*•]|\d+[.)])\s+(.{3,})$/;

/** Chooses how to plan a task: by what is wanted, how many things that are, and what there is room for. */
export function choosePlanning({
  task_description,
  available_strategies,
  constraints,
}: PlanningPayload): PlanningDecision {
  const tasks = tasksIn(task_description);
  const wanted = strategyFor(task_description, tasks, constraints);
  const selected_strategy = [wanted, "step_by_step" as const, "none" as const].find((strategy) =>
    available_strategies.includes(strategy),
  );
  return {
    decision: "allow",
    selected_strategy: wanted === "none" ? "none" : (selected_strategy ?? "none"),
    ...(wanted !== "none" && tasks.length > 1 && { planning_template: tasks }),
  };
}

function strategyFor(
  task: string,
  tasks: readonly string[],
  constraints: PlanningPayload["constraints"],
): Exclude<PlanningStrategy, object> {
  const { max_requests }: { max_requests?: unknown } = Object(constraints);
  if (typeof max_requests === "number" && max_requests < REQUESTS_FOR_A_PLAN) return "none";
  if (tasks.length >= TASKS_FOR_A_GRAPH) return "graph_planning";
  if (tasks.length > 1) return "step_by_step";
  return BY_INTENT[detectIntent(task).intent];
}

/** The items of the lists in a task. */
function tasksIn(task: string): readonly string[] {
  return task
    .split("\n")
    .flatMap((line) => LIST_ITEM.exec(line)?.[1]?.trim() ?? [])
    .slice(0, MAX_TASKS);
}
