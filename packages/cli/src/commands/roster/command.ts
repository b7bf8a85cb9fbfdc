import type { Command } from "commander";
import { declareAdd } from "./add/command.ts";
import { declareList } from "./list/command.ts";
import { declareSetState } from "./set-state/command.ts";

/** Declares `reins roster` and what belongs to it. */
export function declareRoster(roster: Command): void {
  roster.description(
    "The agents that are known here, as agent-roster.jsonl has them. An agent that is not on it, or is dead, is " +
      "unknown; any other is registered; a live role is standing. Rules go by that.",
  );
  declareList(roster);
  declareAdd(roster);
  declareSetState(roster);
}
