import { CODE, type JsonObject, membersOf, RpcError } from "@reins/acp";
import type { ClientRequest, Terminal } from "../control/control-point.ts";
import { enforce, perform } from "../control/enforce.ts";
import { refusal } from "../control/verdict-wire.ts";
import type { GovernorContext } from "./context.ts";
import type { GovernedSession } from "./governed-session.ts";

/** What an agent asks of its clients. */
interface Asked {
  readonly method: string;
  readonly params: JsonObject;
}

/** The same for the rules, and who is asked: one client where it has an effect there, else all that offer it. */
interface Wanted extends Asked {
  readonly point: Terminal | ClientRequest;
  readonly isAskedOfOne: boolean;
}

/** How many terminals of a session are remembered. */
const MOST_TERMINALS = 1_000;

/** Has a client run a command for an agent, after the verdict on it. What it is asked of the terminal later is asked there. */
export async function createTerminal(
  context: GovernorContext,
  session: GovernedSession,
  { method, params }: Asked,
  signal: AbortSignal,
): Promise<unknown> {
  const wanted = {
    method,
    params,
    isAskedOfOne: true,
    point: { kind: "terminal", command: commandIn(params) },
  } as const;
  const { value, client } = await askClients(context, session, wanted, signal);
  const { terminalId } = membersOf(value);
  if (typeof terminalId !== "string" || client === undefined) return value;
  session.terminals.set(terminalId, client);
  const [oldest] = session.terminals.keys();
  if (session.terminals.size > MOST_TERMINALS && oldest !== undefined) session.terminals.delete(oldest);
  return value;
}

/** Asks the client that runs a terminal about it. The verdict on its command is the verdict on this too. */
export async function useTerminal(
  _context: GovernorContext,
  session: GovernedSession,
  { method, params }: Asked,
  signal: AbortSignal,
): Promise<unknown> {
  const id = String(params.terminalId);
  const only = session.terminals.get(id);
  if (only === undefined)
    throw new RpcError(CODE.invalidParams, `there is no terminal ${JSON.stringify(id)} in this session`);
  const asked = { ...params, terminalId: id, sessionId: session.id };
  const { value } = await session.clients.request(method, asked, inTurn(session, signal), { only });
  if (method === "terminal/release") session.terminals.delete(id);
  return value;
}

/** Puts a question of an agent to the people in front of a session, after the verdict on it. */
export async function askPeople(
  context: GovernorContext,
  session: GovernedSession,
  { method, params }: Asked,
  signal: AbortSignal,
): Promise<unknown> {
  const { sessionId: _, toolCallId: __, requestId: ___, _meta, ...args } = params;
  const point = { kind: "client_request", method, arguments: args } as const;
  const wanted = { method, params, point, isAskedOfOne: false };
  return (await askClients(context, session, wanted, signal)).value;
}

/** Asks one client something that may have an effect there by a custom method, after the verdict on it. */
export async function askOneClient(
  context: GovernorContext,
  session: GovernedSession,
  { method, params }: Asked,
  signal: AbortSignal,
): Promise<unknown> {
  const { sessionId: _, ...args } = params;
  const point = { kind: "client_request", method, arguments: args } as const;
  return (await askClients(context, session, { method, params, point, isAskedOfOne: true }, signal)).value;
}

async function askClients(
  context: GovernorContext,
  session: GovernedSession,
  { method, params, point, isAskedOfOne }: Wanted,
  signal: AbortSignal,
): Promise<{ readonly value: unknown; readonly client: string | undefined }> {
  // No person is asked to allow what no client could do.
  if (isAskedOfOne) expectClient(session, { method, params });
  const waiting = inTurn(session, signal);
  const enforced = await enforce(context, session, point, { signal: waiting });
  if (enforced.kind !== "allowed") throw await refusal(method, enforced.verdict);
  return perform(context, session, { tool: method, entry: enforced.verdict.entry }, async () => {
    const asked = { ...params, sessionId: session.id };
    // The client that offered it may have gone while it was decided.
    const only = isAskedOfOne ? expectClient(session, { method, params }) : undefined;
    const { value } = await session.clients.request(method, asked, waiting, { only });
    return { value, client: only };
  });
}

/** The client that a request is for; where none offers to answer it, the answer is -32601. */
function expectClient(session: GovernedSession, { method, params }: Asked): string {
  const only = session.clients.whoServes?.(method, params);
  if (only !== undefined) return only;
  throw new RpcError(CODE.methodNotFound, `no client of the session offers "${method}"`);
}

function inTurn({ turn }: GovernedSession, signal: AbortSignal): AbortSignal {
  return turn ? AbortSignal.any([signal, turn.signal]) : signal;
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
