import type { Command } from "commander";
import { exitCodesHelp } from "../../../errors.ts";
import type { Invocation } from "../../../program.ts";
import type { ConformanceFlags } from "./settings.ts";

const HELP = `
Examples:
  reins ahp conformance stdio -- node my-harness.ts
  reins ahp conformance http http://127.0.0.1:18789/ahp --token @token
  reins ahp conformance ws wss://harness.example/ahp --api-key @key --json
  reins ahp conformance unix ./ahp.sock --verbose

The harness is sent real events, broken messages and a little load: point it at one that may be shaken.`;

/** Declares `reins ahp conformance`. */
export function declareConformance(ahp: Command, invocation: Invocation): void {
  ahp
    .command("conformance")
    .summary("examine any harness: what holds, and what does not")
    .description(
      "Examines a harness and prints what holds and what does not, by section of the protocol, with the exchange\n" +
        "that shows it. --verbose shows every exchange.",
    )
    .argument("<transport>", "stdio, http, ws or unix")
    .argument("<target...>", "the address, the socket's path, or the program to start, after --")
    .option("--token <secret>", "bearer token to show; @file reads it from a file")
    .option("--api-key <secret>", "API key to show; @file reads it from a file")
    .option("--essential", "make only the checks that a harness must pass")
    .option("--wait-ms <ms>", "how long an answer may take (default: 5000)")
    .option("--json", "print the report as JSON")
    .addHelpText("after", HELP)
    .addHelpText(
      "after",
      exitCodesHelp({
        done: "everything that a harness must do holds",
        failed: "something that a harness must do fails, or the run was ended early",
        usage: "wrong usage",
        unreachable: "the harness cannot be reached or does not let us in",
      }),
    )
    .action(async (transport: string, target: string[], _, command: Command) => {
      const { conformance } = await import("./conformance.ts");
      invocation.exitCode = await conformance(transport, target, command.optsWithGlobals<ConformanceFlags>());
    });
}
