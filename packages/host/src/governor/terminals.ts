import { resultDraft } from "@reins/supervisor";
import type { JsonObject } from "../acp/message.ts";
import { CODE, RpcError } from "../acp/rpc-error.ts";
import { type GovernorContext, recordIn, subjectIn } from "./context.ts";
import type { GovernedSession } from "./governed-session.ts";
import { refusal } from "./refusal.ts";
import { decideAs } from "./wishes.ts";

/** What an agent asks of its client to have a command run. */
export const CREATE_TERMINAL = "terminal/create";

/** Has a client run a command for an agent, after the verdict on it. */
export function createTerminal(
  context: GovernorContext,
  session: GovernedSession,
  params: JsonObject,
  signal: AbortSignal,
): Promise<unknown> {
  return askClients(context, session, { method: CREATE_TERMINAL, params, args: commandIn(params) }, signal);
}

/** What an agent wants of its clients. */
interface Wanted {
  readonly method: string;
  readonly params: JsonObject;
  /** The same for the rules. */
  readonly args: JsonObject;
}

/** Asks clients something for an agent that may have an effect there, after the verdict on it. */
export async function askClients(
  context: GovernorContext,
  session: GovernedSession,
  { method, params, args }: Wanted,
  signal: AbortSignal,
): Promise<unknown> {
  const waiting = session.turn ? AbortSignal.any([signal, session.turn.signal]) : signal;
  const decided = await decideAs(context, session, {
    origin: "agent",
    event_type: "pre_action",
    tool: method,
    args,
    signal: waiting,
  });
  if (decided.verdict !== "allowed") throw await refusal(method, decided);
  const { entry } = decided;
  if (entry !== undefined) session.turn?.entries.push(entry);
  const subject = subjectIn(context, session, "performed");
  const conclude = async (outcome: string) => {
    const call = await context.harness.supervisor.settle(subject, { event_type: "pre_action", entry });
    recordIn(context, session, [resultDraft(subject, { tool: method, outcome }, call)]);
  };
  try {
    const asked = { ...params, sessionId: session.id };
    const { value } = await context.clients(session).request(method, asked, waiting);
    await conclude("completed");
    return value;
  } catch (error) {
    await conclude("failed");
    throw error;
  }
}

/** A command for the rules. One without arguments may be a whole line, which clients give to a shell. */
function commandIn({ command, args, cwd, env }: JsonObject): JsonObject {
  if (typeof command !== "string") throw new RpcError(CODE.invalidParams, "a terminal needs a command");
  const words: unknown[] = Array.isArray(args) ? args : [];
  return {
    ...(words.length > 0 ? { command: [command, ...words] } : { line: command }),
    ...(typeof cwd === "string" && { cwd }),
    ...(Array.isArray(env) && env.length > 0 && { env }),
  };
}
