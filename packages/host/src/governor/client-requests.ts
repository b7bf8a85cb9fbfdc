import { isObject, type JsonObject, readParams } from "@reins/acp";
import type { AgentEntry } from "@reins/agents";
import { typedOption } from "@reins/agents";
import { enforce } from "../control/enforce.ts";
import { completeSetting, refusal } from "../control/outcome.ts";
import { newSessionRecord } from "../sessions/new-session.ts";
import type { GovernorContext } from "./context.ts";
import { GovernedSession } from "./governed-session.ts";

/** A message of a client that changes something in its agent. */
interface ClientMessage {
  readonly method: string;
  readonly params: JsonObject;
}

/** Forwards a client's request to its agent after the verdict: mostly a change of settings. */
export async function forwardRequest(
  session: GovernedSession,
  { method, params, signal }: ClientMessage & { readonly signal: AbortSignal },
): Promise<unknown> {
  const { agent, entry } = session.context;
  const point = { kind: "setting", tool: method, arguments: settingsOf(method, params, entry) } as const;
  const enforced = await enforce(session, point, { signal });
  if (enforced.kind !== "allowed") throw await refusal(method, enforced.verdict);
  const wanted = method === "session/set_config_option" ? typedOption(params) : params;
  const mode = modeSetBy(method, params);
  const option = method === "session/set_config_option" ? optionIn(params) : undefined;
  session.pendingMode = mode;
  session.pendingOption = option;
  let outcome = "unknown";
  try {
    const result = await agent.request(method, forAgent(session, wanted), { signal });
    outcome = "completed";
    if (mode !== undefined) {
      session.mode = mode;
      session.claimedMode = mode;
      session.allowedMode = undefined;
      if (session.pinnedMode !== undefined) session.pinnedMode = mode;
      await session.port.modeSet(mode);
    }
    if (option && session.pinnedOptions.has(option.id)) session.pinnedOptions.set(option.id, option.value);
    return result;
  } catch (error) {
    // Without a response of the agent, it may have been set.
    if (!signal.aborted && !agent.signal.aborted) outcome = "failed";
    throw error;
  } finally {
    session.pendingMode = undefined;
    session.pendingOption = undefined;
    await completeSetting(session, { tool: method, entry: enforced.verdict.entry, outcome });
  }
}

function optionIn({ configId, value }: JsonObject): { readonly id: string; readonly value: unknown } {
  return { id: String(configId), value };
}

/** The mode that a client's request sets, if it sets one. */
function modeSetBy(method: string, params: JsonObject): string | undefined {
  if (method === "session/set_mode") return readParams(method, params).modeId;
  const isMode = method === "session/set_config_option" && params.configId === "mode";
  return isMode && typeof params.value === "string" ? params.value : undefined;
}

/** Forwards a client's notification to its agent, where the rules allow it without asking a person. */
export async function forwardNotification(
  session: GovernedSession,
  { method, params }: ClientMessage,
): Promise<void> {
  const { agent, entry } = session.context;
  const given = settingsOf(method, params, entry);
  const point = { kind: "setting", tool: method, arguments: given, isNotification: true } as const;
  const { kind, verdict } = await enforce(session, point);
  if (kind !== "allowed") return;
  await agent.notify(method, forAgent(session, params));
  // No response says whether it was set.
  await completeSetting(session, { tool: method, entry: verdict.entry, outcome: "unknown" });
}

/** A client's message with the agent's own name for the session, if it is in one. */
export function forAgent({ agentSessionId }: GovernedSession, params: JsonObject): JsonObject {
  return agentSessionId === "" ? params : { ...params, sessionId: agentSessionId };
}

/** The scope of what happens on the connection to an agent outside of any session. */
export function outsideOfSessions(context: GovernorContext, channel: string): GovernedSession {
  const { entry, principal, now, harness, ownerOf } = context;
  const place = { peer: "connection", created: now(), cwd: harness.home };
  const record = newSessionRecord({ agent: entry.id, principal, channel, ...place });
  return new GovernedSession(
    context,
    ownerOf(record),
    { cwd: harness.home, roots: [] },
    { agentSessionId: "" },
  );
}

/**
 * The arguments of a client's request as rules see them. Whether the agent still asks for everything afterwards follows
 * from the catalogue: in a mode that it does not list, the agent does not.
 */
export function settingsOf(
  method: string,
  params: JsonObject,
  entry: Pick<AgentEntry, "modes" | "profile">,
): JsonObject {
  switch (method) {
    case "session/set_mode":
      return { mode: params.modeId, asks: String(asksIn(entry, params.modeId)) };
    case "session/set_config_option": {
      const { configId: option, value } = params;
      const { configOptions } = entry.profile;
      const held = Object.hasOwn(configOptions, String(option));
      // The value of the launch profile keeps the agent asking.
      const asks =
        option === "mode" ? asksIn(entry, value) : !held || configOptions[String(option)] === value;
      return { option, value, asks: String(asks) };
    }
    case "session/set_model":
      return { model: params.modelId };
    case "authenticate":
      return { method: params.methodId };
    case "providers/set":
      // Of the headers the names: the values may be secrets.
      return {
        ...{ provider: params.providerId, url: params.baseUrl, api: params.apiType },
        ...(isObject(params.headers) && { headers: Object.keys(params.headers) }),
      };
    default:
      return params;
  }
}

/** Whether an agent asks for everything in a mode, as its catalogue entry says. */
export function asksIn({ modes, profile }: Pick<AgentEntry, "modes" | "profile">, mode: unknown): boolean {
  return typeof mode === "string" && (mode === profile.mode || modes.includes(mode));
}
