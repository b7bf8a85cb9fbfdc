import { resolve } from "node:path";
import { text } from "node:stream/consumers";
import { AhpClient, EventType, isBlocking, parseExact, type Transport } from "@reins/ahp";
import { errorMessage } from "@reins/kit";
import { command, homeInput } from "../../command.ts";
import { CliError, EXIT, type ExitCode } from "../../errors.ts";
import { readNamedFile } from "../../files.ts";
import { wholeNumber } from "../../flags.ts";
import { socketIn } from "../../home.ts";
import { version } from "../../installation.ts";
import { printable } from "../../output.ts";
import {
  CREDENTIALS,
  type Credentials,
  connectionError,
  type NamedTarget,
  readCredentials,
  stdioTarget,
  targetName,
  urlTarget,
} from "./target.ts";

export const sendCommand = command({
  summary: "send one event and print the decision",
  description: "Connects to a harness, sends one event and prints the decision.",
  inputs: {
    type: ["<event_type>", "pre_action, pre_prompt, post_action, …", { read: readEventType }],
    program: ["[command...]", "with --to stdio: the program to start, after --"],
    to: ["--to <target>", "the harness (default: ahp.sock in the home folder)"],
    home: homeInput("the home folder, when --to is left out"),
    payload: ["--payload <json>", "the event's payload: JSON, @file, or - for stdin", { default: ["{}"] }],
    session: ["--session <id>", "session the event belongs to (default: a new one)"],
    agent: ["--agent <id>", "agent the event is from (default: a new one)"],
    depth: ["--depth <depth>", "depth of the event", { default: ["0"], read: wholeNumber() }],
    timeoutMs: ["--timeout-ms <ms>", "timeout of a response", { default: ["10000"], read: wholeNumber(1) }],
    ...CREDENTIALS,
    json: ["--json", "print the decision as JSON"],
  },
  note: `Targets for --to:
  http://host:port/ahp, https://…, ws://…, wss://…
  unix:/path/to/socket
  stdio                          starts the program after --
  (left out)                     the Reins of this home, on ahp.sock

Examples:
  reins ahp send pre_action --payload '{"tool_name":"bash","arguments":{"command":"ls"}}'
  reins ahp send pre_prompt --to http://127.0.0.1:18789/ahp --payload @prompt.json --json
  reins ahp send post_action --to unix:./ahp.sock
  reins ahp send idle --to stdio --payload '{"idle_duration_ms":1,"idle_reason":"done"}' -- node harness.ts

Any other exit code than 0 means: do not continue. In a shell: reins ahp send pre_action --payload @call.json && ./call`,
  codes: {
    done: "allow or approve; for events without a decision: sent",
    failed: "the harness rejected the event or sent an invalid response",
    usage: "wrong usage",
    unreachable: "the harness cannot be reached or rejects the credentials",
    blocked: "block, reject or skip",
    modified: "modify or refine: continue only as the decision says",
    deferred: "defer, retry or queue: ask again later",
    escalated: "escalate: another party decides",
  },
  async run({ type, program, to, home, payload: source, session, agent, depth, timeoutMs, ...flags }) {
    const target = resolveTarget(to, home, program ?? []);
    const credentials = readCredentials(target, flags);
    const payload = await readPayload(source, process.stdin);
    const decision = await exchange(
      transportOf(target, credentials),
      { type, payload, depth },
      {
        timeoutMs,
        reconnect: false,
        onFailure: "throw",
        framework: "reins-cli",
        version: version(),
        ...(session !== undefined && { sessionId: session }),
        ...(agent !== undefined && { agentId: agent }),
      },
    ).catch((error: unknown) => {
      throw connectionError(error, targetName(target));
    });
    if (!isDecision(decision)) return { json: { sent: true }, text: () => "sent\n" };
    return { json: decision, text: () => describeDecision(decision), exitCode: exitCodeFor(decision) };
  },
});

export function resolveTarget(to: string | undefined, home: string, program: readonly string[]): NamedTarget {
  if (to === "stdio") return stdioTarget(program);
  if (program.length > 0) {
    throw new CliError(`"${program.join(" ")}" is given, but only --to stdio starts a program.`, {
      next: "Leave it out, or add --to stdio.",
    });
  }
  if (to === undefined) return { transport: "unix", path: socketIn(home) };
  if (/^https?:/.test(to)) return urlTarget("http", to);
  if (/^wss?:/.test(to)) return urlTarget("websocket", to);
  if (to.startsWith("unix:")) return { transport: "unix", path: resolve(to.slice("unix:".length)) };
  throw new CliError(`--to is "${to}", which is not a harness.`, {
    next: "Give http://…, https://…, ws://…, wss://…, unix:<path> or stdio.",
  });
}

export function readEventType(name: string): EventType {
  const type = EventType.options.find((each) => each === name);
  if (type) return type;
  throw new CliError(`"${name}" is not an event of the protocol.`, {
    next: `Use one of: ${EventType.options.join(", ")}.`,
  });
}

async function exchange(
  transport: Transport,
  { type, payload, depth }: { type: EventType; payload: unknown; depth: number },
  options: Parameters<typeof AhpClient.connect>[1],
): Promise<unknown> {
  const client = await AhpClient.connect(transport, options);
  try {
    await client.handshake([type]);
    if (isBlocking(type))
      return await client.sendEvent({ ...client.event(type, payload), depth }, { asReceived: true });
    return await client.sendNotification({ ...client.event(type, payload), depth });
  } finally {
    await client.close();
  }
}

function transportOf(target: NamedTarget, credentials: Credentials | undefined): Transport {
  const auth = credentials && { auth: { method: credentials } };
  switch (target.transport) {
    case "stdio":
      return { type: "stdio", program: target.command, args: target.args };
    case "unix":
      return { type: "unix", path: target.path };
    default:
      return { type: target.transport, url: target.url, ...auth };
  }
}

interface AnyDecision {
  readonly decision: string;
  readonly reason?: unknown;
}

const EXIT_CODES: ReadonlyMap<string, ExitCode> = new Map([
  ["allow", EXIT.done],
  ["approve", EXIT.done],
  ["block", EXIT.blocked],
  ["reject", EXIT.blocked],
  ["skip", EXIT.blocked],
  ["modify", EXIT.modified],
  ["refine", EXIT.modified],
  ["defer", EXIT.deferred],
  ["retry", EXIT.deferred],
  ["queue", EXIT.deferred],
  ["escalate", EXIT.escalated],
]);

export function isDecision(value: unknown): value is AnyDecision {
  return (
    typeof value === "object" && value !== null && "decision" in value && typeof value.decision === "string"
  );
}

/** An unknown decision counts as blocked. */
export function exitCodeFor({ decision }: AnyDecision): ExitCode {
  return EXIT_CODES.get(decision) ?? EXIT.blocked;
}

export function describeDecision({ decision, reason, ...rest }: AnyDecision): string {
  const line = typeof reason === "string" ? `${decision}: ${reason}` : decision;
  const more = Object.keys(rest).length > 0 ? `\n${JSON.stringify(rest, null, 2)}` : "";
  return printable(`${line}${more}\n`);
}

export async function readPayload(flag: string, input: NodeJS.ReadableStream): Promise<unknown> {
  const source = await sourceOf(flag, input);
  try {
    return parseExact(source);
  } catch (error) {
    throw new CliError(`The payload is not JSON: ${errorMessage(error)}`, {
      next: `Give JSON such as '{"tool_name":"bash"}', @file, or - for stdin.`,
      cause: error,
    });
  }
}

async function sourceOf(flag: string, input: NodeJS.ReadableStream): Promise<string> {
  if (flag === "-") return text(input);
  if (!flag.startsWith("@")) return flag;
  return readNamedFile(flag.slice(1), "The payload cannot be read", "Check the path after the @.");
}
