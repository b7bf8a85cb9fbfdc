import { change } from "@reins/store";
import { z } from "zod";
import { SupervisorError } from "../errors.ts";
import { AgentName, newSecret, randomName, read, Scopes, SessionName } from "./names.ts";
import { intersect, isAdmin, type Principal } from "./principal.ts";
import { type Registry, tenantFor } from "./registry.ts";
import { actingAgent, agentFor, childSessionName, isChildSessionName, type Subjects } from "./subjects.ts";
import { identityTables } from "./tables/tables.ts";

/** A session that an agent began for a sub-agent, with no more than it was given. */
export interface ChildSession {
  readonly session_id: string;
  readonly tenant: string;
  readonly user: string;
  /** The id of the principal it is bound to: its token is not valid with any other. */
  readonly principal: string;
  /** The session it was begun from. */
  readonly parent: string;
  readonly agent: string;
  /** The agents between the one the user started and this one, outermost first. */
  readonly chain: readonly string[];
  readonly depth: number;
  readonly scopes: readonly string[];
  /** Without the secrets that can be recognised in it. */
  readonly task: string;
  /** RFC 3339, like the time below. */
  readonly created: string;
  readonly expires: string;
}

/** A child session as the store keeps it. */
export interface StoredChild extends ChildSession {
  /** The keyed hash of its token. */
  readonly hash: string;
  readonly revoked: string | undefined;
  readonly changed: number;
}

/** A child session as others see it. */
export function asChildSession({ hash: _, revoked: __, changed: ___, ...child }: StoredChild): ChildSession {
  return child;
}

/** How far delegation may go. */
export interface DelegationLimits {
  /** How deep sub-agents may be below the user's own agent. */
  readonly depth: number;
  /** How often one agent may occur in a chain, so that two cannot call each other without end. */
  readonly repeats: number;
  /** How many sub-agents a principal may have at once. */
  readonly children: number;
  /** How long a session_token is valid, in milliseconds. */
  readonly lifetime: number;
}

/** The limits unless others are given. */
export const DELEGATION_LIMITS: DelegationLimits = {
  depth: 8,
  repeats: 4,
  children: 10_000,
  lifetime: 12 * 60 * 60 * 1_000,
};

/** Refuses an agent that would be too deep below its chain, or too often in it. */
function expectWithinLimits(
  { depth, repeats }: DelegationLimits,
  chain: readonly string[],
  agent: string,
): void {
  if (chain.length > depth) throw new SupervisorError("forbidden", `sub-agents may be at most ${depth} deep`);
  if (chain.filter((name) => name === agent).length >= repeats)
    throw new SupervisorError("forbidden", `"${agent}" may occur at most ${repeats} times in one chain`);
}

const Task = z.strictObject({
  parentSession: SessionName,
  parentAgent: z.string(),
  childAgent: AgentName,
  task: z.string().max(16 * 1024),
  scopes: Scopes,
});

/** A request to begin a sub-agent. */
export interface DelegationRequest extends Readonly<z.input<typeof Task>> {
  readonly principal: Principal;
  /** The harness runs the parent itself, and so knows which agent it is; by default it asks from outside. */
  readonly hosted?: boolean | undefined;
  /** The token of the sub-agent that asks, if one does; it settles what the parent is. */
  readonly childToken?: string | undefined;
}

/** What a sub-agent sends with its events. */
export interface Delegated {
  readonly session_token: string;
  readonly session_id: string;
}

/** What a sub-agent comes from. */
interface Parent {
  readonly session: string;
  readonly chain: readonly string[];
  readonly scopes: readonly string[];
  readonly expires: string | undefined;
}

/** Begins sub-agents, each with no more than its user, its parent and its task have in common. */
export class Delegation {
  readonly #registry: Registry;
  readonly #subjects: Subjects;
  readonly #limits: DelegationLimits;

  constructor(registry: Registry, subjects: Subjects, limits: DelegationLimits) {
    this.#registry = registry;
    this.#subjects = subjects;
    this.#limits = limits;
  }

  /** Begins a sub-agent. Its token is given out here and kept nowhere. */
  async delegate({ principal, hosted, childToken, ...given }: DelegationRequest): Promise<Delegated> {
    const by = await this.#registry.live(principal);
    const wanted = read(Task, given);
    const parent = this.#parentOf(by, { ...wanted, hosted }, childToken);
    const agent = agentFor(by, wanted.childAgent);
    expectWithinLimits(this.#limits, parent.chain, agent);
    const session_token = newSecret(this.#registry.randomBytes);
    const child = this.#childOf(by, parent, {
      agent,
      scopes: intersect(parent.scopes, wanted.scopes),
      task: String(this.#registry.redact(wanted.task)),
      hash: this.#registry.hash.ofSession(session_token),
    });
    const { hash: _, task: __, tenant, created: ___, ...shown } = child;
    const details = { ...shown, task_commitment: this.#registry.hash.ofTask(wanted.task) };
    await this.#registry.record(
      by,
      { change: "session_delegated", tenant, target: child.session_id, details, source: parent.session },
      change(identityTables, "addChild", { child, most: this.#limits.children }),
    );
    return { session_token, session_id: child.session_id };
  }

  /** Ends a session's sub-agents, and itself if it is one; returns how many. An admin ends any of its tenant. */
  async revoke(session: string, principal: Principal, asked: string | undefined): Promise<number> {
    const by = await this.#registry.live(principal);
    const tenant = tenantFor(by, asked);
    const which = { tenant, session, principal: isAdmin(by) ? undefined : by.id, at: this.#registry.now() };
    const ended = await this.#registry.query("reach", which);
    if (ended === 0) return 0;
    await this.#registry.record(
      by,
      { change: "session_revoked", tenant, target: session, details: { session, ended } },
      change(identityTables, "revokeSession", which),
    );
    return ended;
  }

  /** The live sub-agents of a tenant, the newest first. */
  async list(asked: string | undefined, principal: Principal): Promise<readonly ChildSession[]> {
    const by = await this.#registry.admin(principal);
    const which = { tenant: tenantFor(by, asked), at: this.#registry.now() };
    return (await this.#registry.query("children", which)).map(asChildSession);
  }

  #parentOf(
    by: Principal,
    { parentSession, parentAgent, hosted }: z.output<typeof Task> & Pick<DelegationRequest, "hosted">,
    childToken: string | undefined,
  ): Parent {
    if (childToken !== undefined) return asParent(this.#subjects.boundChild(childToken, by));
    if (!isChildSessionName(parentSession)) {
      const chain = [actingAgent({ agent: parentAgent, hosted }, by)];
      return {
        session: parentSession,
        chain,
        scopes: by.scopes,
        expires: this.#registry.directory.expiryOf(by),
      };
    }
    const child = this.#registry.directory.child(parentSession, this.#registry.now());
    if (child?.principal === by.id && child.tenant === by.tenant) return asParent(child);
    throw new SupervisorError("not_found", `there is no session "${parentSession}"`);
  }

  #childOf(
    by: Principal,
    parent: Parent,
    own: Pick<StoredChild, "agent" | "scopes" | "task" | "hash">,
  ): Omit<StoredChild, "changed" | "revoked"> {
    const created = this.#registry.now();
    const latest = new Date(Date.parse(created) + this.#limits.lifetime).toISOString();
    return {
      session_id: childSessionName(randomName(this.#registry.randomBytes, 16)),
      tenant: by.tenant,
      user: by.user,
      principal: by.id,
      parent: parent.session,
      chain: parent.chain,
      depth: parent.chain.length,
      created,
      expires: parent.expires !== undefined && parent.expires < latest ? parent.expires : latest,
      ...own,
    };
  }
}

/** A sub-agent as the parent of another. */
function asParent({ session_id, chain, agent, scopes, expires }: ChildSession): Parent {
  return { session: session_id, chain: [...chain, agent], scopes, expires };
}
