import { LruCache } from "@reins/kit";
import {
  type Enforcement,
  type NetworkReach,
  type Origin,
  Roster,
  type Subagent,
  type Subject,
  TRUST_LEVELS,
  type Trust,
} from "@reins/policy";
import { SupervisorError } from "../errors.ts";
import type { ChildSession } from "./delegation.ts";
import { AgentName, isSecret, printable } from "./names.ts";
import { covers, type Principal } from "./principal.ts";
import type { Registry } from "./registry.ts";

/** What is known of an event before it is decided. */
export interface SubjectRequest {
  readonly principal: Principal;
  /** Who the agent says it is. */
  readonly agent: string;
  readonly session: string;
  /** The harness runs the agent itself, and so knows which it is; by default it asks from outside. */
  readonly hosted?: boolean | undefined;
  /** The key under which the session's entries are chained, where it is hosted here. */
  readonly sessionKey?: string | undefined;
  /** By default `default`. */
  readonly mode?: string | undefined;
  readonly enforcement: Enforcement;
  /** What the operating system lets it reach over the network, where it confines it. */
  readonly network?: NetworkReach | undefined;
  /** Who asks; by default the agent. */
  readonly origin?: Origin | undefined;
  /** How deep below the user's own agent the harness itself began this one; by default 0. */
  readonly depth?: number | undefined;
  /** The sub-agent that a hook says it is about, which is one deeper than its agent. */
  readonly subagent?: Subagent | undefined;
  /** The token that came with the event, if it is a sub-agent's. */
  readonly childToken?: string | undefined;
}

/** Makes the subject of an event from what the harness knows. */
export class Subjects {
  readonly #registry: Registry;
  readonly #own = new OwnSubjects();
  readonly #seen = new SeenSessions();
  /** The agents that are known, as the roster says now. */
  roster: Pick<Roster, "trustOf"> = Roster.read("");

  constructor(registry: Registry) {
    this.#registry = registry;
  }

  /** The live child session of a token. */
  childOf(sessionToken: string): ChildSession | undefined {
    if (!isSecret(sessionToken)) return undefined;
    const { directory, hash } = this.#registry;
    return directory.childWithHash(hash.ofSession(sessionToken), this.#registry.now());
  }

  /** The live child session of a token, if it belongs to the principal that sent it; else throws. */
  boundChild(sessionToken: string, { id, tenant }: Principal): ChildSession {
    const child = this.childOf(sessionToken);
    if (child?.principal === id && child.tenant === tenant) return child;
    throw new SupervisorError("forbidden", "the session_token is not valid here, was revoked or has expired");
  }

  /** The subject of an event. */
  subjectFor(request: SubjectRequest): Subject {
    const principal = this.#registry.liveAtOnce(request.principal);
    const { childToken, session } = request;
    if (childToken !== undefined)
      return this.#childSubject(request, principal, this.boundChild(childToken, principal));
    if (isChildSessionName(session))
      throw new SupervisorError("forbidden", `events of the session "${session}" need its session_token`);
    if (!request.hosted) this.#expectNoChild(request, principal);
    return this.#own.subjectFor(request, principal, this.roster);
  }

  /** The subject of a refusal: the holder of the token, with nothing of what the event claims. */
  refused({ principal, agent, session, mode = "default", enforcement }: SubjectRequest): Subject {
    const { user, tenant, roles, started } = principal;
    return {
      ...{ user, tenant, roles, mode, enforcement, session, started },
      agent: unverified(agent),
      chain: [],
      depth: 0,
      scopes: [],
      trust: "unknown",
    };
  }

  /**
   * Refuses what may come from a sub-agent that leaves its session_token out. It shows the same token as the agent that
   * began it, so as long as it lives only sessions that were there before it, and those that begin sub-agents
   * themselves, go without one.
   */
  #expectNoChild(request: SubjectRequest, principal: Principal): void {
    const now = this.#registry.now();
    const agent = actingAgent(request, principal);
    const first = this.#seen.firstSeen(principal, request.session) ?? now;
    let isParent = false;
    let isNamed = false;
    let isChild = false;
    let isLater = false;
    for (const child of this.#registry.directory.childrenOf(principal, now)) {
      const begins = child.parent === request.session && child.chain.at(-1) === agent;
      isParent ||= begins;
      // A name that the token does not settle is the sub-agent's own claim, also in its parent's session.
      isNamed ||= request.agent !== agent && [request.agent, unverified(request.agent)].includes(child.agent);
      isChild ||= child.agent === agent;
      isLater ||= child.created <= first;
    }
    if (isNamed || (!isParent && (isChild || isLater)))
      throw new SupervisorError(
        "forbidden",
        `"${claimOf(request.agent)}" may be a sub-agent: while sub-agents of a token run, other sessions need a session_token, or a token of their own`,
      );
    this.#seen.note(principal, request.session, now);
  }

  /** The subject of what a delegated sub-agent does. */
  #childSubject(request: SubjectRequest, principal: Principal, child: ChildSession): Subject {
    const agent = request.agent === child.agent ? child.agent : unverified(request.agent);
    const { user, tenant, roles } = principal;
    const { mode = "default", enforcement, network, origin } = request;
    return {
      user,
      tenant,
      roles,
      mode,
      enforcement,
      ...(network !== undefined && { network }),
      ...(origin !== undefined && { origin }),
      scopes: child.scopes,
      agent,
      trust: trustIn(this.roster, [...child.chain, agent]),
      session: child.session_id,
      root_session: this.#rootOf(child),
      started: "sub-agent",
      chain: child.chain,
      depth: Math.max(child.depth, request.depth ?? 0),
    };
  }

  /** The session that the user started, above all the delegated ones. */
  #rootOf(child: ChildSession): string {
    let { parent } = child;
    for (let left = child.depth; left > 0 && isChildSessionName(parent); left -= 1) {
      const above = this.#registry.directory.child(parent, this.#registry.now());
      if (!above) break;
      parent = above.parent;
    }
    return parent;
  }
}

const CHILD = "delegated_";

/** The name of a new child session, from random text. */
export function childSessionName(random: string): string {
  return `${CHILD}${random}`;
}

/** Whether a session can only be a delegated one. Such names are ours to give. */
export function isChildSessionName(session: string): boolean {
  return session.startsWith(CHILD);
}

/** How many principals, and sessions of each, are remembered. */
const MOST_PRINCIPALS = 10_000;
const MOST_SESSIONS = 1_000;

/** When the sessions that agents outside of the harness name were first seen, by principal. Times are RFC 3339. */
class SeenSessions {
  readonly #seen = new LruCache<string, LruCache<string, string>>({ entries: MOST_PRINCIPALS });

  /** Notes a session; the time of its first use stays. */
  note({ id }: Pick<Principal, "id">, session: string, now: string): void {
    const sessions = this.#seen.get(id) ?? new LruCache<string, string>({ entries: MOST_SESSIONS });
    if (sessions.get(session) === undefined) sessions.set(session, now);
    this.#seen.set(id, sessions);
  }

  /** When a session was first seen, if it was. */
  firstSeen({ id }: Pick<Principal, "id">, session: string): string | undefined {
    return this.#seen.get(id)?.get(session);
  }
}

/** A subject, and what it was made for. */
interface Made {
  readonly claim: string;
  readonly hosted: boolean;
  readonly sessionKey: string | undefined;
  readonly roster: Pick<Roster, "trustOf">;
  readonly subject: Subject;
}

/**
 * The subjects of what users' own agents do, or agents that the harness began below them. As long as everything that
 * makes a subject is the same it is the same object, so that what follows from it is found out once.
 */
export class OwnSubjects {
  /** By principal and session. What a principal may is new with a new object, so it is never remembered too long. */
  readonly #made = new WeakMap<Principal, LruCache<string, Made>>();

  /** The subject of what a live principal asks for. */
  subjectFor(request: SubjectRequest, principal: Principal, roster: Pick<Roster, "trustOf">): Subject {
    const sessions = this.#sessionsOf(principal);
    const { agent: claim, hosted = false, sessionKey } = request;
    const made = sessions.get(request.session);
    const last = made?.claim === claim && made.hosted === hosted ? made : undefined;
    const agent = last?.subject.agent ?? actingAgent(request, principal);
    const trust = last?.roster === roster ? last.subject.trust : trustOf(roster, agent);
    if (last?.subject.trust === trust && isFor(last, request)) return last.subject;
    const subject = Object.freeze(ownSubject(request, principal, { agent, trust }));
    sessions.set(request.session, { claim, hosted, sessionKey, roster, subject });
    return subject;
  }

  #sessionsOf(principal: Principal): LruCache<string, Made> {
    const sessions = this.#made.get(principal) ?? new LruCache<string, Made>({ entries: MOST_SESSIONS });
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
    subject.depth === depthOf(request) &&
    subject.subagent?.id === request.subagent?.id &&
    subject.subagent?.type === request.subagent?.type &&
    sessionKey === request.sessionKey
  );
}

function depthOf({ depth = 0, subagent }: SubjectRequest): number {
  return depth + (subagent ? 1 : 0);
}

function ownSubject(
  request: SubjectRequest,
  { user, tenant, roles, scopes, started }: Principal,
  { agent, trust }: Pick<Subject, "agent" | "trust">,
): Subject {
  const {
    agent: claim,
    session,
    sessionKey,
    mode = "default",
    enforcement,
    network,
    origin,
    subagent,
  } = request;
  const isOther = agent !== claim && agent !== unverified(claim);
  const depth = depthOf(request);
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
    ...(subagent && { subagent }),
    tenant,
    trust,
    user,
  };
}

const UNVERIFIED = "unverified:";

const LONGEST_CLAIM = 128;

/** The recorded name of an unverified agent. */
export function unverified(claim: string): string {
  return `${UNVERIFIED}${claimOf(claim)}`;
}

/** The agent that acts: the one it says it is if the principal may act as that, else an unverified one. */
export function agentFor({ agents }: Principal, claim: string): string {
  const plain = AgentName.safeParse(claim).success && !claim.startsWith(UNVERIFIED);
  return plain && covers(agents, [claim]) ? claim : unverified(claim);
}

/** The one agent that a token stands for, if it is an agent's and names no other: its holder is that agent. */
export function soleAgent({ kind, agents }: Principal): string | undefined {
  const [only] = agents;
  return kind === "agent" && agents.length === 1 && only !== "*" ? only : undefined;
}

/** What an agent called itself, as it is kept. */
function claimOf(claim: string): string {
  return printable(claim, LONGEST_CLAIM);
}

/** The trust in a sub-agent: no more than in the least trusted of its chain. */
export function trustIn(roster: Pick<Roster, "trustOf">, agents: readonly string[]): Trust {
  const levels = agents.map((agent) => TRUST_LEVELS.indexOf(trustOf(roster, agent)));
  return TRUST_LEVELS[Math.min(...levels)] ?? "unknown";
}

/** The trust in one agent. */
function trustOf(roster: Pick<Roster, "trustOf">, agent: string): Trust {
  return agent.startsWith(UNVERIFIED) ? "unknown" : roster.trustOf(agent);
}
