import type { Subject } from "@reins/policy";
import { agentFor, claimOf, soleAgent, trustOf, unverified } from "./authority.ts";
import type { Principal } from "./principal.ts";
import type { SubjectRequest } from "./subjects.ts";

/** A subject, and what it was made for. */
interface Made {
  readonly claim: string;
  readonly hosted: boolean;
  readonly sessionKey: string | undefined;
  readonly subject: Subject;
}

/** How many sessions of one principal are remembered. */
const MOST_SESSIONS = 1_000;

/**
 * The subjects of what users' own agents do, or agents that the harness began below them. As long as everything that
 * makes a subject is the same it is the same object, so that what follows from it is found out once.
 */
export class OwnSubjects {
  /** By principal and session. What a principal may is new with a new object, so it is never remembered too long. */
  readonly #made = new WeakMap<Principal, Map<string, Made>>();

  /** The subject of what a live principal asks for. */
  subjectFor(request: SubjectRequest, principal: Principal): Subject {
    const sessions = this.#sessionsOf(principal);
    const { agent: claim, hosted = false, sessionKey } = request;
    const made = sessions.get(request.session);
    const last = made?.claim === claim && made.hosted === hosted ? made : undefined;
    const agent = last?.subject.agent ?? actingAgent(request, principal);
    const trust = trustOf(request.roster, agent);
    if (last?.subject.trust === trust && isFor(last, request)) return last.subject;
    const subject = Object.freeze(ownSubject(request, principal, { agent, trust }));
    sessions.delete(request.session);
    sessions.set(request.session, { claim, hosted, sessionKey, subject });
    const oldest = sessions.keys().next();
    if (sessions.size > MOST_SESSIONS && !oldest.done) sessions.delete(oldest.value);
    return subject;
  }

  #sessionsOf(principal: Principal): Map<string, Made> {
    const known = this.#made.get(principal);
    if (known) return known;
    const sessions = new Map<string, Made>();
    this.#made.set(principal, sessions);
    return sessions;
  }
}

/** The agent that acts. Where the harness runs it, the harness knows; outside, a token for one agent alone says which. */
export function actingAgent(
  { agent, hosted }: Pick<SubjectRequest, "agent" | "hosted">,
  principal: Principal,
): string {
  return (hosted ? undefined : soleAgent(principal)) ?? agentFor(principal, agent);
}

function isFor({ sessionKey, subject }: Made, request: SubjectRequest): boolean {
  return (
    subject.mode === (request.mode ?? "default") &&
    subject.enforcement === request.enforcement &&
    subject.network === request.network &&
    subject.origin === request.origin &&
    subject.depth === (request.depth ?? 0) &&
    sessionKey === request.sessionKey
  );
}

function ownSubject(
  {
    agent: claim,
    session,
    sessionKey,
    mode = "default",
    enforcement,
    network,
    origin,
    depth = 0,
  }: SubjectRequest,
  { user, tenant, roles, scopes, started }: Principal,
  { agent, trust }: Pick<Subject, "agent" | "trust">,
): Subject {
  const isOther = agent !== claim && agent !== unverified(claim);
  // In the order of their names, as records have them.
  return {
    agent,
    chain: [],
    ...(isOther && { claimed_agent: claimOf(claim) }),
    depth,
    enforcement,
    mode,
    ...(network !== undefined && { network }),
    ...(origin !== undefined && { origin }),
    roles,
    scopes,
    session,
    ...(sessionKey !== undefined && { session_key: sessionKey }),
    started: depth > 0 ? "sub-agent" : started,
    tenant,
    trust,
    user,
  };
}
