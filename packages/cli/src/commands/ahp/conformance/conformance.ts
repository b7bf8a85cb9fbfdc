import { type ConformanceReport, formatReport, runConformance } from "@reins/ahp/conformance";
import { EXIT, type ExitCode } from "../../../errors.ts";
import { wholeNumber } from "../../../flags.ts";
import { print } from "../../../output.ts";
import { watchForStop } from "../../../serving/stop.ts";
import { conversationFault } from "../conversation-fault.ts";
import { placeOf, readCredentials, refuseIdleCredentials } from "../target.ts";
import { type ConformanceFlags, examinedTarget } from "./settings.ts";

/** Examines a harness and prints the report. Ctrl-C ends it early, with what was found so far. */
export async function conformance(
  transport: string,
  words: readonly string[],
  flags: ConformanceFlags,
): Promise<ExitCode> {
  const target = examinedTarget(transport, words);
  const auth = readCredentials(flags);
  refuseIdleCredentials(target, auth);
  const end = new AbortController();
  const stop = watchForStop();
  void stop.requested.then(() => end.abort());
  try {
    const report = await runConformance(target, {
      signal: end.signal,
      profile: flags.essential ? "essential" : "full",
      ...(auth && { auth }),
      ...(flags.waitMs !== undefined && { waitMs: wholeNumber(flags.waitMs, "--wait-ms", 1) }),
    });
    print(textOf(report, flags));
    return report.conforms && !end.signal.aborted ? EXIT.done : EXIT.failed;
  } catch (error) {
    throw conversationFault(error, placeOf(target));
  } finally {
    stop.dispose();
  }
}

function textOf(report: ConformanceReport, { json, verbose }: ConformanceFlags): string {
  if (json) return `${JSON.stringify(report)}\n`;
  const color = process.stdout.isTTY && process.stdout.hasColors();
  return formatReport(report, { color, verbose: verbose ?? false });
}
