import { AhpClient, type EventType, type FullEvent, type Transport } from "@reins/ahp";
import { EXIT, type ExitCode } from "../../../errors.ts";
import { wholeNumber } from "../../../flags.ts";
import { version } from "../../../installation.ts";
import { print } from "../../../output.ts";
import { conversationFault } from "../conversation-fault.ts";
import {
  type Credentials,
  type NamedTarget,
  placeOf,
  readCredentials,
  refuseIdleCredentials,
} from "../target.ts";
import { describe, exitCodeFor, isDecision } from "./decision.ts";
import { readPayload } from "./payload.ts";
import { readEventType, type SendFlags, settleTarget } from "./settings.ts";

/** Sends one event, prints the decision, and gives the exit code that stands for it. */
export async function send(
  eventType: string,
  program: readonly string[],
  flags: SendFlags,
): Promise<ExitCode> {
  const type = readEventType(eventType);
  const target = settleTarget(flags, program, process.env);
  const credentials = readCredentials(flags);
  refuseIdleCredentials(target, credentials);
  const depth = wholeNumber(flags.depth, "--depth");
  const timeoutMs = wholeNumber(flags.timeoutMs, "--timeout-ms", 1);
  const payload = await readPayload(flags.payload, process.stdin);
  const write = (event: AhpClient) => ({ ...event.event(type, payload), depth });
  const decision = await converse(transportOf(target, credentials), type, write, {
    timeoutMs,
    reconnect: false,
    onFailure: "throw",
    framework: "reins-cli",
    version: version(),
    ...(flags.session !== undefined && { sessionId: flags.session }),
    ...(flags.agent !== undefined && { agentId: flags.agent }),
  }).catch((error: unknown) => {
    throw conversationFault(error, placeOf(target));
  });
  return show(decision, flags.json ?? false);
}

async function converse(
  transport: Transport,
  type: EventType,
  write: (client: AhpClient) => FullEvent,
  options: Parameters<typeof AhpClient.connect>[1],
): Promise<unknown> {
  const client = await AhpClient.connect(transport, options);
  try {
    await client.handshake([type]);
    return await client.sendEventFullValue(write(client));
  } finally {
    await client.close();
  }
}

function show(decision: unknown, json: boolean): ExitCode {
  if (!isDecision(decision)) {
    print(json ? '{"sent":true}\n' : "sent\n");
    return EXIT.done;
  }
  print(json ? `${JSON.stringify(decision)}\n` : describe(decision));
  return exitCodeFor(decision);
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
