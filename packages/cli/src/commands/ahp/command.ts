import type { Command } from "commander";
import type { Invocation } from "../../program.ts";
import { declareConformance } from "./conformance.ts";
import { declareSend } from "./send.ts";
import { declareServe } from "./serve.ts";

export function declareAhp(ahp: Command, invocation: Invocation): void {
  ahp.description("The Agent Harness Protocol: serve a harness, test one, query one.");
  declareServe(ahp);
  declareConformance(ahp, invocation);
  declareSend(ahp, invocation);
}
