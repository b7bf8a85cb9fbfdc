import { membersOf } from "../acp/message.ts";
import { CODE, RpcError } from "../acp/rpc-error.ts";
import type { Connection } from "./connection.ts";
import type { HubContext, SessionCall } from "./context.ts";
import type { LiveSession } from "./live-session.ts";
import { modelOption } from "./models.ts";
import { agentOf } from "./revival.ts";
import { noSession } from "./served-sessions.ts";

/** Passes a request about no session on to the agent that a connection is for. */
export async function passOutside(
  { pool }: HubContext,
  connection: Connection,
  { method, params, signal }: SessionCall,
): Promise<unknown> {
  const name = connection.agent;
  if (name === undefined) throw new RpcError(CODE.methodNotFound, `"${method}" is not known here`);
  const agent = await pool.acquire(name, connection.principal);
  return agent.governor.request(method, params, { signal });
}

/** Passes a request about a session on to its agent. */
export async function passOn(
  context: HubContext,
  session: LiveSession,
  { method, params, signal }: SessionCall,
): Promise<unknown> {
  const agent = await agentOf(context, session, { signal });
  session.used = context.clock.now().getTime();
  const option = method === "session/set_model" ? modelOption(session.settings) : undefined;
  const { sessionId, modelId: value } = params;
  const result = option
    ? await agent.governor.request(
        "session/set_config_option",
        { sessionId, configId: option.id, value },
        { signal },
      )
    : await agent.governor.request(method, params, { signal });
  session.learn({ configOptions: membersOf(result).configOptions });
  if (method === "session/set_mode")
    session.learn({ modes: { ...membersOf(session.settings.modes), currentModeId: params.modeId } });
  return result;
}

/** Passes the end of a session on. An agent that does not run has nothing to close. */
export async function passEnd(
  context: HubContext,
  session: LiveSession,
  call: SessionCall,
): Promise<unknown> {
  session.callOff(noSession(session.id));
  const result = session.agent ? await passOn(context, session, call) : {};
  await context.sessions.end(session, { reason: "completed", terminated_by: "daemon" });
  return result;
}
