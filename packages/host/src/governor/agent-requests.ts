import { CODE, type JsonObject, RpcError, readResult } from "@reins/acp";
import { z } from "zod";
import type { ControlPoint } from "../control/control-point.ts";
import { AGENT_DOORS, doorOf } from "../control/doors.ts";
import { enforce } from "../control/enforce.ts";
import { perform, REFUSED, refusal } from "../control/outcome.ts";
import { CANCELLED, PERMISSION, type PermissionOutcome } from "../control/permission-request.ts";
import { THIRD_PARTY } from "../control/scope.ts";
import { askHost, callHostTool } from "./bridge-requests.ts";
import { FILE_METHODS, serveFile } from "./file-access.ts";
import type { GovernedSession } from "./governed-session.ts";
import { isCustom, mayKnow } from "./known-methods.ts";
import { answerPermission } from "./permission.ts";
import { mayWork } from "./unprompted.ts";

/** How a request of an agent is answered. Each decides about it, or belongs to what was decided. */
type Answer = (
  session: GovernedSession,
  request: { readonly method: string; readonly params: JsonObject },
  signal: AbortSignal,
) => Promise<unknown>;

/**
 * Answers a request of an agent in a session. A custom method is known where the agent announced it and a client offered
 * it; it is decided by its name.
 */
export async function answerAgent(
  session: GovernedSession,
  request: { readonly method: string; readonly params: JsonObject; readonly initialized: JsonObject },
  signal: AbortSignal,
): Promise<unknown> {
  const { method, initialized } = request;
  const isAnnounced = isCustom(method) && mayKnow(method, THIRD_PARTY, initialized);
  const answer = AGENT_REQUESTS.get(method) ?? (isAnnounced ? askOneClient : undefined);
  if (!answer) throw notKnown(method);
  if (needsTurn(method) && !(await mayWork(session, method))) return refuseUnprompted(method);
  return answer(session, request, signal);
}

/** What puts a question to people, and has no effect beside that. */
const QUESTIONS = new Set(["elicitation/create", "_sandboxagent/session/request_question"]);

/** Whether a method has an effect that needs a turn: questions to people and the output of terminals have none. */
function needsTurn(method: string): boolean {
  const door = doorOf(AGENT_DOORS, method);
  return !door || ("point" in door && !QUESTIONS.has(method));
}

/** What an agent is answered to a method that is not for it to ask. */
export function notKnown(method: string): RpcError {
  return new RpcError(CODE.methodNotFound, `"${method}" is not known here`);
}

/** Refuses a request of an agent that was not prompted. */
function refuseUnprompted(method: string): PermissionOutcome {
  if (method === PERMISSION) return CANCELLED;
  throw new RpcError(REFUSED, `${method} was not allowed: the agent was not prompted`);
}

/** What an agent asks of its clients. */
interface Asked {
  readonly method: string;
  readonly params: JsonObject;
}

/** The same for the rules, and who is asked: one client where it has an effect there, else all that offer it. */
interface Wanted extends Asked {
  readonly point: Extract<ControlPoint, { readonly kind: "terminal" | "client_request" }>;
  readonly isAskedOfOne: boolean;
}

/** How many terminals of a session are remembered. */
const MOST_TERMINALS = 1_000;

/** Has a client run a command for an agent, after the verdict on it. What it is asked of the terminal later is asked there. */
async function createTerminal(
  session: GovernedSession,
  { method, params }: Asked,
  signal: AbortSignal,
): Promise<unknown> {
  const command = commandIn(params);
  const point = { kind: "terminal", tool: method, arguments: decidedOf(command) } as const;
  const wanted = { method, params: { ...command }, point, isAskedOfOne: true };
  const { value, client } = await askClients(session, wanted, signal);
  const { terminalId } = readResult("terminal/create", value);
  if (terminalId === undefined || client === undefined) return value;
  session.terminals.set(terminalId, client);
  const [oldest] = session.terminals.keys();
  if (session.terminals.size > MOST_TERMINALS && oldest !== undefined) session.terminals.delete(oldest);
  return value;
}

/** Asks the client that runs a terminal about it. The verdict on its command is the verdict on this too. */
async function useTerminal(
  session: GovernedSession,
  { method, params }: Asked,
  signal: AbortSignal,
): Promise<unknown> {
  const id = String(params.terminalId);
  const only = session.terminals.get(id);
  if (only === undefined)
    throw new RpcError(CODE.invalidParams, `there is no terminal ${JSON.stringify(id)} in this session`);
  const asked = { terminalId: id, sessionId: session.id };
  const { value } = await session.clients.request(method, asked, session.within(signal), { only });
  if (method === "terminal/release") session.terminals.delete(id);
  return value;
}

/** Puts a question of an agent to the people in front of a session, after the verdict on it. */
const askPeople: Answer = async (session, { method, params }, signal) => {
  const { sessionId: _, toolCallId: __, requestId: ___, _meta, ...args } = params;
  const point = { kind: "client_request", tool: method, arguments: args } as const;
  return (await askClients(session, { method, params, point, isAskedOfOne: false }, signal)).value;
};

/** Asks one client something that may have an effect there by a custom method, after the verdict on it. */
const askOneClient: Answer = async (session, { method, params }, signal) => {
  const { sessionId: _, ...args } = params;
  const point = { kind: "client_request", tool: method, arguments: args } as const;
  return (await askClients(session, { method, params, point, isAskedOfOne: true }, signal)).value;
};

async function askClients(
  session: GovernedSession,
  { method, params, point, isAskedOfOne }: Wanted,
  signal: AbortSignal,
): Promise<{ readonly value: unknown; readonly client: string | undefined }> {
  // No person is asked to allow what no client could do.
  if (isAskedOfOne) expectClient(session, { method, params });
  const waiting = session.within(signal);
  const enforced = await enforce(session, point, { signal: waiting });
  if (enforced.kind !== "allowed") throw await refusal(method, enforced.verdict);
  return perform(session, { tool: method, entry: enforced.verdict.entry }, async () => {
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

/** What a client is asked to run: these members, and no others that a client might take for more. */
const Command = z.object({
  command: z.string(),
  args: optional(z.array(z.string())),
  cwd: optional(z.string()),
  env: optional(z.array(z.object({ name: z.string(), value: z.string() }))),
  outputByteLimit: optional(z.number()),
});
type Command = z.infer<typeof Command>;

/** A member that may be absent, which null says too. */
function optional<Type extends z.ZodType>(type: Type) {
  return z.preprocess((value) => value ?? undefined, type.optional()).optional();
}

function commandIn(params: JsonObject): Command {
  const read = Command.safeParse(params);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const member = issue?.path.join(".") ?? "";
  throw new RpcError(CODE.invalidParams, `the "${member}" of a terminal is not valid: ${issue?.message}`);
}

/** A command for the rules. One without arguments may be a whole line, which clients give to a shell. */
function decidedOf({ command, args = [], cwd, env = [] }: Command): JsonObject {
  return {
    ...(args.length > 0 ? { command: [command, ...args] } : { line: command }),
    ...(cwd !== undefined && { cwd }),
    ...(env.length > 0 && { env }),
  };
}

/** What an agent looks up at the host of its session. */
const LOOKUPS = [
  ...(["host/capabilities", "host/tools/list", "tool_search/query"] as const),
  ...(["skills/list", "skills/fetch", "skill/match"] as const),
];

/** Everything that an agent may ask of its clients; what has no row here is not known. */
export const AGENT_REQUESTS: ReadonlyMap<string, Answer> = new Map<string, Answer>([
  [PERMISSION, (session, { params }, signal) => answerPermission(session, params, signal)],
  ...FILE_METHODS.map((method): [string, Answer] => [
    method,
    (session, { params }, signal) => serveFile(session, method, params, signal),
  ]),
  ["terminal/create", createTerminal],
  ["terminal/output", useTerminal],
  ["terminal/wait_for_exit", useTerminal],
  ["terminal/kill", useTerminal],
  ["terminal/release", useTerminal],
  ...[...QUESTIONS].map((method): [string, Answer] => [method, askPeople]),
  ["builtin_call", callHostTool],
  ...LOOKUPS.map((method): [string, Answer] => [
    method,
    (session, { params }, signal) => askHost(session, { method, params }, signal),
  ]),
]);
