import { itemSearch } from "@reins/bridge";
import { LruCache } from "@reins/kit";
import type { DecisionEvents, PlanningStrategy } from "../control/events.ts";
import { detectIntent, IMPLIED } from "./intent.ts";

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
