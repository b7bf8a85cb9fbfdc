import type { Decided, Origin } from "@reins/supervisor";
import { agentOf, type GovernorContext, settingIn, subjectIn } from "./context.ts";
import type { GovernedSession } from "./governed-session.ts";
import type { Case } from "./judge.ts";
import { offerAsPermission } from "./offer.ts";

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

/** Whether something that a client wants of the agent may be done without asking anybody. */
export async function mayPass(
  context: GovernorContext,
  session: GovernedSession,
  wish: Wish,
): Promise<Pick<Decided, "verdict" | "reason">> {
  const { supervisor } = context.harness;
  const { event, subject, setting } = caseOf(context, session, wish);
  const foreseen = await supervisor.foresee(event, subject, setting);
  const isSettled = foreseen?.verdict === "allowed" || foreseen?.verdict === "blocked";
  return isSettled
    ? supervisor.decide(event, subject, setting)
    : { verdict: "blocked", reason: foreseen?.reason ?? "no policy is loaded" };
}

function caseOf(
  context: GovernorContext,
  session: GovernedSession,
  { event_type, tool, args, origin = "client" }: Wish,
): Pick<Case, "event" | "subject" | "setting"> {
  return {
    event: {
      event_type,
      session_id: session.id,
      agent_id: agentOf(context.entry, session),
      depth: session.depth,
      payload: { tool_name: tool, arguments: args },
    },
    subject: subjectIn(context, session, "performed", origin),
    setting: settingIn(session, session.served),
  };
}
