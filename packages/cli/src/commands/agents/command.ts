import type { Command } from "commander";
import type { Invocation } from "../../program.ts";
import { declareInstall } from "./install/command.ts";
import { declareList } from "./list/command.ts";
import { declareProbe } from "./probe/command.ts";
import { declareRemove } from "./remove/command.ts";
import { declareVerify } from "./verify/command.ts";

/** Declares `reins agents` and what belongs to it. */
export function declareAgents(program: Command, invocation: Invocation): void {
  const agents = program
    .command("agents")
    .summary("install agents, and prove that they ask")
    .description(
      "The agents that can be run: those of the catalogue, and those that agents.yaml in the home adds. None of these " +
        "commands needs a Reins that runs.",
    );
  declareList(agents);
  declareInstall(agents, invocation);
  declareVerify(agents, invocation);
  declareProbe(agents);
  declareRemove(agents);
}
