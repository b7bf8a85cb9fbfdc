import { resolve } from "node:path";
import { type ConformanceReport, formatReport, runConformance } from "@reins/ahp-conformance";
import type { Command } from "commander";
import { CliError, EXIT, type ExitCode, helpText } from "../../errors.ts";
import { wholeNumber } from "../../flags.ts";
import { print } from "../../output.ts";
import type { Invocation } from "../../program.ts";
import { withStopSignal } from "../../serving/stop.ts";
import {
  type CredentialFlags,
  connectionError,
  type NamedTarget,
  readCredentials,
  rejectUnusedCredentials,
  stdioTarget,
  targetName,
  urlTarget,
} from "./target.ts";

const HELP = `
Examples:
  reins ahp conformance stdio -- node my-harness.ts
  reins ahp conformance http http://127.0.0.1:18789/ahp --token @token
  reins ahp conformance ws wss://harness.example/ahp --api-key @key --json
  reins ahp conformance unix ./ahp.sock --verbose

Sends real events, broken messages and some load: do not use it on a harness in production.`;

export function declareConformance(ahp: Command, invocation: Invocation): void {
  ahp
    .command("conformance")
    .summary("test a harness: what conforms, and what does not")
    .description(
      "Tests a harness and prints what conforms and what does not, by section of the protocol, with the exchange\n" +
        "that shows it. --verbose shows every exchange.",
    )
    .argument("<transport>", "stdio, http, ws or unix")
    .argument("<target...>", "the address, the socket's path, or the program to start, after --")
    .option("--token <secret>", "bearer token to send; @file reads it from a file")
    .option("--api-key <secret>", "API key to send; @file reads it from a file")
    .option("--essential", "run only the checks that a harness must pass")
    .option("--wait-ms <ms>", "timeout of a response (default: 5000)")
    .option("--json", "print the report as JSON")
    .addHelpText(
      "after",
      helpText(HELP, {
        done: "all required checks pass",
        failed: "a required check fails, or the run was cancelled",
        usage: "wrong usage",
        unreachable: "the harness cannot be reached or rejects the credentials",
      }),
    )
    .action(async (transport: string, target: string[], _, command: Command) => {
      invocation.exitCode = await conformance(transport, target, command.optsWithGlobals<ConformanceFlags>());
    });
}

interface ConformanceFlags extends CredentialFlags {
  readonly verbose?: boolean;
  readonly essential?: boolean;
  readonly waitMs?: string;
  readonly json?: boolean;
}

export function conformanceTarget(transport: string, words: readonly string[]): NamedTarget {
  if (transport === "stdio") return stdioTarget(words);
  const [place, ...rest] = words;
  if (place === undefined || rest.length > 0) {
    throw new CliError(`"${words.join(" ")}" is not one target.`, { next: "Give one address or one path." });
  }
  switch (transport) {
    case "http":
      return urlTarget("http", place);
    case "ws":
      return urlTarget("websocket", place);
    case "unix":
      return { transport: "unix", path: resolve(place) };
    default:
      throw new CliError(`"${transport}" is not a transport.`, {
        next: "Use one of: stdio, http, ws, unix.",
      });
  }
}

/** Ctrl-C ends the examination early, with the results so far. */
async function conformance(
  transport: string,
  words: readonly string[],
  flags: ConformanceFlags,
): Promise<ExitCode> {
  const target = conformanceTarget(transport, words);
  const auth = readCredentials(flags);
  rejectUnusedCredentials(target, auth);
  const options = {
    profile: flags.essential ? "essential" : "full",
    ...(auth && { auth }),
    ...(flags.waitMs !== undefined && { waitMs: wholeNumber(flags.waitMs, "--wait-ms", 1) }),
  } as const;
  return withStopSignal(async (signal) => {
    const report = await runConformance(target, { ...options, signal }).catch((error: unknown) => {
      throw connectionError(error, targetName(target));
    });
    print(reportText(report, flags));
    return report.conforms && !signal.aborted ? EXIT.done : EXIT.failed;
  });
}

function reportText(report: ConformanceReport, { json, verbose }: ConformanceFlags): string {
  if (json) return `${JSON.stringify(report)}\n`;
  const color = process.stdout.isTTY && process.stdout.hasColors();
  return formatReport(report, { color, verbose: verbose ?? false });
}
