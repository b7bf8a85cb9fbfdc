import { CODE, type JsonObject, membersOf, RpcError, readResult } from "@reins/acp";
import { noSession, type Session } from "../sessions/session.ts";
import type { Connection } from "./connection.ts";
import type { HubContext, SessionCall } from "./context.ts";
import { choicesOf, modelOption } from "./extensions.ts";
import { agentOf } from "./resume.ts";

/** Forwards a request about no session to the agent of a connection. */
export async function forwardOutside(
  { pool }: HubContext,
  connection: Connection,
  { method, params, signal }: SessionCall,
): Promise<unknown> {
  const name = connection.agent;
  if (name === undefined) throw new RpcError(CODE.methodNotFound, `"${method}" is not known here`);
  const agent = await pool.acquire(name, connection.principal);
  return agent.governor.request(method, params, { signal });
}

/** Forwards a request about a session to its agent. */
export async function forwardToAgent(
  connection: Connection,
  session: Session,
  { method, params, signal }: SessionCall,
): Promise<unknown> {
  const agent = await agentOf(session, { signal });
  session.used = session.hub.clock.now().getTime();
  expectSetting(session.settings, method, params);
  const option = method === "session/set_model" ? modelOption(session.settings) : undefined;
  const { sessionId, modelId: value } = params;
  const result = option
    ? await agent.governor.request(
        "session/set_config_option",
        { sessionId, configId: option.id, value },
        { signal },
      )
    : await agent.governor.request(method, params, { signal });
  const { configOptions } = membersOf(result);
  session.learn({ configOptions });
  // The other clients are notified here: not every agent does.
  if (configOptions !== undefined)
    await session.update({ sessionUpdate: "config_option_update", configOptions }, connection.id);
  if (method === "session/set_mode") {
    const { modeId: currentModeId } = params;
    session.learn({ modes: { ...membersOf(session.settings.modes), currentModeId } });
    await session.update({ sessionUpdate: "current_mode_update", currentModeId }, connection.id);
  }
  return result;
}

/** Rejects a setting that the agent does not list, where it lists any: no decision is needed for it. */
export function expectSetting(settings: JsonObject, method: string, params: JsonObject): void {
  if (Object.keys(settings).length === 0) return;
  const { modes, configOptions, models } = settings;
  const isMissing =
    (method === "session/set_mode" && modes === undefined) ||
    (method === "session/set_config_option" && configOptions === undefined) ||
    (method === "session/set_model" && models === undefined && !modelOption(settings));
  if (isMissing)
    throw new RpcError(CODE.methodNotFound, `the agent of this session has nothing that ${method} sets`);
  if (method === "session/set_mode")
    expectKnown("mode", params.modeId, idsIn(readResult("session/new", settings).modes.availableModes));
  if (method !== "session/set_config_option") return;
  expectKnown("option", params.configId, idsIn(configOptions));
  const options: unknown[] = Array.isArray(configOptions) ? configOptions : [];
  const option = options.map(membersOf).find(({ id }) => id === params.configId);
  if (option === undefined || option.type === "boolean") return;
  const values = choicesOf(option).map(({ value }) => value);
  expectKnown(`value of ${String(option.id)}`, params.value, values);
}

function idsIn(list: unknown): readonly unknown[] {
  return Array.isArray(list) ? list.map((one) => membersOf(one).id) : [];
}

function expectKnown(what: string, given: unknown, known: readonly unknown[]): void {
  if (known.length === 0 || known.includes(given)) return;
  const message = `unknown ${what} ${JSON.stringify(given)}; there are ${known.map(String).join(", ")}`;
  throw new RpcError(CODE.invalidParams, message);
}

/**
 * Closes a session for now: cancels its turn and the queued prompts, and has its agent close it. It stays listed, and the
 * next load, resume, fork or prompt resumes it.
 */
export async function closeSession(
  connection: Connection,
  session: Session,
  { params, signal }: SessionCall,
): Promise<JsonObject> {
  const { agent } = session;
  await session.apply({ type: "released" });
  if (agent?.governor.session(session.id)) await agent.governor.request("session/close", params, { signal });
  else await session.withdraw("the session was closed");
  connection.detach(session.id);
  return {};
}

/** Ends a session for good, so that it is not listed any more. An agent that does not run has nothing to delete. */
export async function deleteSession(
  connection: Connection,
  session: Session,
  call: SessionCall,
): Promise<unknown> {
  session.cancelPending(noSession(session.id));
  const result = session.agent ? await forwardToAgent(connection, session, call) : {};
  await session.end({ reason: "completed", terminated_by: "daemon" });
  return result;
}
