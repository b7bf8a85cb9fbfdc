import type { Graph } from "../declaration/graph.ts";
import type { RunStanding, WaitsFor } from "./schedule-ports.ts";

/**
 * How a run stands, by what each running action waits for. It runs as long as one of them waits for nothing. Then the model is called
 * for a decision; while only a person can decide it is not, unless the declaration says so.
 */
export function standingOf(
  running: readonly (WaitsFor | undefined)[],
  isUndecided: boolean,
  whileWaiting: Graph["whileWaiting"],
): RunStanding {
  if (running.includes(undefined)) return { run: "running", callsModel: false };
  if (isUndecided) return { run: "blocked", waitsFor: "model", callsModel: true };
  const waitsFor = running.find((one) => one === "permission") ?? "input";
  return { run: "waiting", waitsFor, callsModel: whileWaiting === "call_model" };
}
