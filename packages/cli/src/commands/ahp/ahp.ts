import { resolve } from "node:path";
import { formatReport, runConformance } from "@reins/ahp-conformance";
import { command, group } from "../../command.ts";
import { CliError, EXIT } from "../../errors.ts";
import { wholeNumber } from "../../flags.ts";
import { withStopSignal } from "../../serving/stop.ts";
import { sendCommand } from "./send.ts";
import { serveCommand } from "./serve.ts";
import {
  CREDENTIALS,
  connectionError,
  type NamedTarget,
  readCredentials,
  stdioTarget,
  targetName,
  urlTarget,
} from "./target.ts";

const conformanceCommand = command({
  summary: "test a harness: what conforms, and what does not",
  description:
    "Tests a harness and prints what conforms and what does not, by section of the protocol, with the exchange\n" +
    "that shows it. --verbose shows every exchange.",
  inputs: {
    transport: ["<transport>", "stdio, http, ws or unix"],
    words: ["<target...>", "the address, the socket's path, or the program to start, after --"],
    ...CREDENTIALS,
    essential: ["--essential", "run only the checks that a harness must pass"],
    waitMs: ["--wait-ms <ms>", "timeout of a response (default: 5000)", { read: wholeNumber(1) }],
    json: ["--json", "print the report as JSON"],
  },
  note: `Examples:
  reins ahp conformance stdio -- node my-harness.ts
  reins ahp conformance http http://127.0.0.1:18789/ahp --token @token
  reins ahp conformance ws wss://harness.example/ahp --api-key @key --json
  reins ahp conformance unix ./ahp.sock --verbose

Sends real events, broken messages and some load: do not use it on a harness in production.`,
  codes: {
    done: "all required checks pass",
    failed: "a required check fails, or the run was cancelled",
    usage: "wrong usage",
    unreachable: "the harness cannot be reached or rejects the credentials",
  },
  // Ctrl-C ends the tests early, with the results so far.
  async run({ transport, words, essential, waitMs, ...flags }, { verbose }) {
    const target = conformanceTarget(transport, words);
    const auth = readCredentials(target, flags);
    const profile = essential ? "essential" : "full";
    const options = { profile, ...(auth && { auth }), ...(waitMs !== undefined && { waitMs }) } as const;
    return withStopSignal(async (signal) => {
      const json = await runConformance(target, { ...options, signal }).catch((error: unknown) => {
        throw connectionError(error, targetName(target));
      });
      const color = process.stdout.isTTY && process.stdout.hasColors();
      const exitCode = json.conforms && !signal.aborted ? EXIT.done : EXIT.failed;
      return { json, text: () => formatReport(json, { color, verbose }), exitCode };
    });
  },
});

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

export const ahpCommand = group("The Agent Harness Protocol: serve a harness, test one, query one.", {
  serve: serveCommand,
  conformance: conformanceCommand,
  send: sendCommand,
});
