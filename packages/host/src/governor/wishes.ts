import type { JsonObject } from "@reins/acp";
import type { Decided, Origin } from "@reins/supervisor";
import { offerAsPermission } from "../control/ask-clients.ts";
import { refusal } from "../control/verdict-wire.ts";
import type { Case } from "../control/wait-for-verdict.ts";
import { newSessionRecord } from "../sessions/new-session.ts";
import { agentOf, type GovernorContext, requestContextIn, subjectIn } from "./context.ts";
import { GovernedSession } from "./governed-session.ts";
import { settingsOf, typedOption } from "./settings.ts";

/** Something that is wanted of an agent, or of a client. */
interface Wish {
  /** Who wants it; by default a client. */
  readonly origin?: Origin;
  readonly event_type: string;
  readonly tool: string;
  readonly args: unknown;
}

/** Decides about something that one side wants of the other. */
export function decideAs(
  context: GovernorContext,
  session: GovernedSession,
  { signal, ...wish }: Wish & { readonly signal: AbortSignal },
): Promise<Decided> {
  return context.judge.decide({
    ...caseOf(context, session, wish),
    waiting: { signal },
    offer: offerAsPermission(context, session, wish.tool, wish.args),
  });
}

/** What a client wants of an agent. */
interface Wanted {
  readonly method: string;
  readonly params: JsonObject;
}

/** Asks an agent what a client wants of it, in a session or outside of any, after the verdict: a change of settings, mostly. */
export async function askAgent(
  context: GovernorContext,
  session: GovernedSession,
  { method, params, signal }: Wanted & { readonly signal: AbortSignal },
): Promise<unknown> {
  const args = settingsOf(method, params, context.entry);
  const wish = { event_type: "pre_action", tool: method, args, signal };
  const decided = await decideAs(context, session, wish);
  if (decided.verdict !== "allowed") throw await refusal(method, decided);
  const wanted = method === "session/set_config_option" ? typedOption(params) : params;
  const result = await context.agent.request(method, forAgent(session, wanted), { signal });
  if (method === "session/set_mode" && typeof params.modeId === "string") session.mode = params.modeId;
  return result;
}

/** Tells an agent what a client tells it. That may do as much as a request, but no person is asked about it. */
export async function tellAgent(
  context: GovernorContext,
  session: GovernedSession,
  { method, params }: Wanted,
): Promise<void> {
  const args = settingsOf(method, params, context.entry);
  const { verdict } = await mayPass(context, session, { event_type: "pre_action", tool: method, args });
  if (verdict === "allowed") await context.agent.notify(method, forAgent(session, params));
}

/** What an agent gets of it: a session by the agent's own name, where there is one. */
function forAgent({ agentSessionId }: GovernedSession, params: JsonObject): JsonObject {
  return agentSessionId === "" ? params : { ...params, sessionId: agentSessionId };
}

/** Stands for what happens outside of any session. */
export function outsideOfSessions(
  { entry, principal, now, harness }: GovernorContext,
  channel: string,
): GovernedSession {
  const place = { peer: "connection", created: now(), cwd: harness.home };
  const record = newSessionRecord({ agent: entry.id, principal, channel, ...place });
  return new GovernedSession(record, { cwd: harness.home, roots: [] });
}

/** Whether something that a client wants of the agent may be done without asking anybody. */
async function mayPass(
  context: GovernorContext,
  session: GovernedSession,
  wish: Wish,
): Promise<Pick<Decided, "verdict" | "reason">> {
  const { supervisor } = context.harness;
  const { event, subject, requestContext } = caseOf(context, session, wish);
  const foreseen = await supervisor.foresee(event, subject, requestContext);
  const isSettled = foreseen?.verdict === "allowed" || foreseen?.verdict === "blocked";
  return isSettled
    ? supervisor.decide(event, subject, requestContext)
    : { verdict: "blocked", reason: foreseen?.reason ?? "no policy is loaded" };
}

function caseOf(
  context: GovernorContext,
  session: GovernedSession,
  { event_type, tool, args, origin = "client" }: Wish,
): Pick<Case, "event" | "subject" | "requestContext"> {
  return {
    event: {
      event_type,
      session_id: session.id,
      agent_id: agentOf(context.entry, session),
      depth: session.depth,
      payload: { tool_name: tool, arguments: args },
    },
    subject: subjectIn(context, session, "performed", origin),
    requestContext: requestContextIn(session, session.served),
  };
}
