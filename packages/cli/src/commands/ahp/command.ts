import type { Command } from "commander";
import type { Invocation } from "../../program.ts";
import { declareConformance } from "./conformance/command.ts";
import { declareSend } from "./send/command.ts";
import { declareServe } from "./serve/command.ts";

/** Declares `reins ahp` and what belongs to it. */
export function declareAhp(program: Command, invocation: Invocation): void {
  const ahp = program
    .command("ahp")
    .summary("serve, examine and ask harnesses of the Agent Harness Protocol")
    .description("The Agent Harness Protocol: serve a harness, examine one, ask one.");
  declareServe(ahp);
  declareConformance(ahp, invocation);
  declareSend(ahp, invocation);
}
