import type { AhpEvent, Call } from "@reins/ahp";
import type { Enforcement, Roster, Subject } from "@reins/policy";
import type { Decided, RequestContext } from "../decision/decision.ts";
import { SupervisorError } from "../errors.ts";
import type { Identity } from "../identity/identity.ts";
import type { Principal } from "../identity/principal.ts";
import type { SupervisorParts } from "./handlers.ts";

/** What is known of an event's sender where the event itself is refused. */
const ASKED = { enforcement: "asked", roster: { trustOf: () => "unknown" as const } } as const;

/** The longest name of a session, in UTF-16 units. Every entry of the session carries it. */
const MAX_SESSION_ID = 1_024;

/** The current principal of a message's sender. A peer without authentication is the operator at this machine. */
export async function principalOf(identity: Identity, { peer }: Pick<Call, "peer">): Promise<Principal> {
  if (peer.principal === undefined) return identity.local();
  const principal = await identity.current({ id: peer.principal });
  if (principal) return principal;
  throw new SupervisorError("forbidden", "the token is no longer valid");
}

/** The token of a delegated session that came with an event, if one did. */
function childTokenIn(metadata: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const token = metadata?.session_token;
  if (token === undefined || token === null) return undefined;
  // Whatever else stands in its place is a wrong token, and not none.
  return typeof token === "string" ? token : "";
}

/** The subject of an event: what the harness knows, with the event's own word only for the name of the session. */
export function subjectOf(
  identity: Identity,
  principal: Principal,
  event: AhpEvent,
  roster: Roster,
  enforcement: Enforcement,
): Subject {
  if (event.session_id.length > MAX_SESSION_ID)
    throw new SupervisorError("invalid", `session_id is longer than ${MAX_SESSION_ID} characters`);
  const claimed = event.metadata?.tenant;
  if (claimed !== undefined && claimed !== null && claimed !== principal.tenant)
    throw new SupervisorError("forbidden", "the event names another tenant than its token's");
  const childToken = childTokenIn(event.metadata);
  return identity.subjectFor({
    principal,
    agent: event.agent_id,
    session: event.session_id,
    enforcement,
    roster,
    ...(childToken !== undefined && { childToken }),
  });
}

/** Records that an event was refused because of whom it claims to be from; other faults are not its sender's. */
export async function recordRefusal(
  { identity, supervisor, workspaceOf }: Pick<SupervisorParts, "identity" | "supervisor" | "workspaceOf">,
  principal: Principal,
  event: AhpEvent,
  error: unknown,
): Promise<Decided | undefined> {
  if (!(error instanceof SupervisorError) || error.code !== "forbidden") return undefined;
  const { agent_id: agent, session_id: session } = event;
  const subject = identity.refusedSubject({ principal, agent, session, ...ASKED });
  return supervisor.refuse(event, subject, { workspace: workspaceOf(event) }, error.message);
}

/** Who asks, and where; or the block that is on the record because of whom an event claims to be from. */
type Asker =
  | { readonly subject: Subject; readonly requestContext: RequestContext }
  | { readonly refused: Decided };

/** Determines the requester. It is checked again right before an action is allowed. */
export async function askerOf(
  parts: Pick<SupervisorParts, "identity" | "policies" | "supervisor" | "workspaceOf">,
  event: AhpEvent,
  call: Pick<Call, "peer">,
  principal: Principal,
): Promise<Asker> {
  const { identity, policies, workspaceOf } = parts;
  const confirm = async () => {
    subjectOf(identity, await principalOf(identity, call), event, policies.roster, "asked");
  };
  try {
    const subject = subjectOf(identity, principal, event, policies.roster, "asked");
    return { subject, requestContext: { workspace: workspaceOf(event), confirm } };
  } catch (error) {
    const refused = await recordRefusal(parts, principal, event, error);
    if (refused) return { refused };
    throw error;
  }
}
