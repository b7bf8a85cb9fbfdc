import { CODE, isObject, type JsonObject, membersOf, RpcError } from "@reins/acp";
import { THIRD_PARTY } from "../control/agent-profile.ts";
import { AGENT_DOORS, doorOf } from "../control/doors.ts";
import { CANCELLED, PERMISSION, type PermissionOutcome } from "../control/permission-options.ts";
import { REFUSED } from "../control/verdict-wire.ts";
import type { GovernorContext } from "./context.ts";
import { FILE_METHODS, serveFile } from "./file-system.ts";
import type { GovernedSession } from "./governed-session.ts";
import { isCustom, mayKnow } from "./known-methods.ts";
import { answerPermission } from "./permission.ts";
import { noteBeside, showUpdate } from "./shown-updates.ts";
import { askOneClient, askPeople, createTerminal, useTerminal } from "./terminals.ts";
import { mayWork, noticeUpdate } from "./unprompted.ts";
import { takeUpdate } from "./updates.ts";

/** How a request of an agent is answered. Each decides about it, or belongs to what was decided. */
type Answer = (
  context: GovernorContext,
  session: GovernedSession,
  request: { readonly method: string; readonly params: JsonObject },
  signal: AbortSignal,
) => Promise<unknown>;

/** Everything that an agent may ask of its clients; what has no row here is not known. */
export const AGENT_REQUESTS: ReadonlyMap<string, Answer> = new Map<string, Answer>([
  [PERMISSION, (context, session, { params }, signal) => answerPermission(context, session, params, signal)],
  ...FILE_METHODS.map((method): [string, Answer] => [
    method,
    (context, session, { params }, signal) => serveFile(context, session, method, params, signal),
  ]),
  ["terminal/create", createTerminal],
  ["terminal/output", useTerminal],
  ["terminal/wait_for_exit", useTerminal],
  ["terminal/kill", useTerminal],
  ["terminal/release", useTerminal],
  ["elicitation/create", askPeople],
  ["_sandboxagent/session/request_question", askPeople],
]);

/** The methods of ACP by which agents may inform clients beside updates. */
export const AGENT_NOTIFICATIONS: ReadonlySet<string> = new Set([
  "elicitation/complete",
  "auth/status_update",
]);

/**
 * Answers a request of an agent in a session. A custom method is known where the agent announced it and a client offered
 * it; it is decided by its name.
 */
export async function answerAgent(
  context: GovernorContext,
  session: GovernedSession,
  request: { readonly method: string; readonly params: JsonObject; readonly initialized: JsonObject },
  signal: AbortSignal,
): Promise<unknown> {
  const { method, initialized } = request;
  const isAnnounced = isCustom(method) && mayKnow(method, THIRD_PARTY, initialized);
  const answer = AGENT_REQUESTS.get(method) ?? (isAnnounced ? askOneClient : undefined);
  if (!answer) throw notKnown(method);
  if (needsTurn(method) && !(await mayWork(context, session, method))) return refuseUnprompted(method);
  return answer(context, session, request, signal);
}

/** Whether a method has an effect that needs a turn: questions to people and the output of terminals have none. */
function needsTurn(method: string): boolean {
  const door = doorOf(AGENT_DOORS, method);
  return !door || ("point" in door && door.point !== "client_request");
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

/** Whether an agent may tell clients something by a method, beside updates of a session. */
export function mayTell(method: string): boolean {
  return isCustom(method) || AGENT_NOTIFICATIONS.has(method);
}

/** Passes on what an agent tells in a session. */
export function tellClients(
  context: GovernorContext,
  session: GovernedSession,
  method: string,
  params: JsonObject,
): void | Promise<void> {
  const { redact, onFault } = context;
  if (method !== "session/update") {
    if (!mayTell(method))
      return onFault(`the agent sent ${JSON.stringify(method.slice(0, 80))}, which is not for agents`);
    return session.clients.notify(method, membersOf(redact({ ...params, sessionId: session.id })));
  }
  if (!isObject(params.update)) return onFault("the agent sent an update that is no object");
  const tell = (update: JsonObject) => (session.isClosing ? undefined : showUpdate(context, session, update));
  noticeUpdate(context, session, params.update);
  noteBeside(context, session, params);
  // Most updates need no waiting, and thousands of them come at once.
  const taken = takeUpdate(context, session, params.update);
  return taken instanceof Promise ? taken.then(tell) : tell(taken);
}
