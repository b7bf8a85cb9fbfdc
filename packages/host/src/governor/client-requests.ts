import { type JsonObject, readParams } from "@reins/acp";
import type { AgentEntry } from "@reins/agents";
import { typedOption } from "@reins/agents";
import { enforce } from "../control/enforce.ts";
import { refusal } from "../control/verdict.ts";
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
  context: GovernorContext,
  session: GovernedSession | undefined,
  { method, params, signal }: ClientMessage & { readonly signal: AbortSignal },
  outside: () => GovernedSession,
): Promise<unknown> {
  const scope = session ?? outside();
  const point = {
    kind: "setting",
    tool: method,
    arguments: settingsOf(method, params, context.entry),
  } as const;
  const enforced = await enforce(context, scope, point, { signal });
  if (enforced.kind !== "allowed") throw await refusal(method, enforced.verdict);
  const wanted = method === "session/set_config_option" ? typedOption(params) : params;
  const result = await context.agent.request(method, forAgent(session, wanted), { signal });
  if (method === "session/set_mode") scope.mode = readParams(method, params).modeId ?? scope.mode;
  return result;
}

/** Forwards a client's notification to its agent, where the rules allow it without asking a person. */
export async function forwardNotification(
  context: GovernorContext,
  session: GovernedSession | undefined,
  { method, params }: ClientMessage,
  outside: () => GovernedSession,
): Promise<void> {
  const given = settingsOf(method, params, context.entry);
  const point = { kind: "setting", tool: method, arguments: given, isNotification: true } as const;
  const { kind } = await enforce(context, session ?? outside(), point);
  if (kind === "allowed") await context.agent.notify(method, forAgent(session, params));
}

/** The message with the agent's own name for the session. */
function forAgent(session: GovernedSession | undefined, params: JsonObject): JsonObject {
  return session ? { ...params, sessionId: session.agentSessionId } : params;
}

/** The scope of what happens on the connection to an agent outside of any session. */
export function outsideOfSessions(
  { entry, principal, now, harness, ownerOf }: GovernorContext,
  channel: string,
): GovernedSession {
  const place = { peer: "connection", created: now(), cwd: harness.home };
  const record = newSessionRecord({ agent: entry.id, principal, channel, ...place });
  return new GovernedSession(ownerOf(record), { cwd: harness.home, roots: [] });
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
      return { provider: params.providerId, url: params.baseUrl };
    default:
      return params;
  }
}

function asksIn({ modes, profile }: Pick<AgentEntry, "modes" | "profile">, mode: unknown): boolean {
  return typeof mode === "string" && (mode === profile.mode || modes.includes(mode));
}
