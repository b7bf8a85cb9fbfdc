import type { AhpEvent, Call } from "@reins/ahp";
import type { Enforcement, Roster, Subject } from "@reins/policy";
import type { Identity } from "../identity/identity.ts";
import type { Principal } from "../identity/principal.ts";
import { SupervisorError } from "../supervisor-error.ts";

/** Whoever sent a message, as it is now. A peer that nobody asked for a token is the operator at this machine. */
export async function principalOf(identity: Identity, { peer }: Pick<Call, "peer">): Promise<Principal> {
  if (peer.principal === undefined) return identity.local();
  const principal = await identity.current({ id: peer.principal });
  if (principal) return principal;
  throw new SupervisorError("forbidden", "the token is no longer valid");
}

/** The token of a delegated session that came with an event, if one did. */
function childTokenIn(metadata: Readonly<Record<string, unknown>> | undefined): string | undefined {
  const token = metadata?.session_token;
  return typeof token === "string" ? token : undefined;
}

/** The subject of an event: what the harness knows, with the event's own word only for the name of the session. */
export function subjectOf(
  identity: Identity,
  principal: Principal,
  event: AhpEvent,
  roster: Roster,
  enforcement: Enforcement,
): Subject {
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
