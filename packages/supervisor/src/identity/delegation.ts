import { change } from "@reins/store";
import { z } from "zod";
import { SupervisorError } from "../supervisor-error.ts";
import { agentFor } from "./agent-claim.ts";
import { expectAdmin, tenantFor } from "./authority.ts";
import {
  asChildSession,
  type ChildSession,
  childSessionName,
  isChildSessionName,
  type StoredChild,
} from "./child-session.ts";
import { type DelegationLimits, expectWithinLimits } from "./delegation-limits.ts";
import { AgentName, read, Scopes, SessionName } from "./names.ts";
import { actingAgent } from "./own-subjects.ts";
import { isAdmin, type Principal } from "./principal.ts";
import type { Registry } from "./registry.ts";
import { intersect } from "./scopes.ts";
import { newSecret, randomName } from "./secret.ts";
import type { Subjects } from "./subjects.ts";
import { identityTables } from "./tables/tables.ts";

const Task = z.strictObject({
  parentSession: SessionName,
  parentAgent: z.string(),
  childAgent: AgentName,
  task: z.string().max(16 * 1024),
  scopes: Scopes,
});

/** A wish to begin a sub-agent. */
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

  /** Ends a session's sub-agents, and itself if it is one; tells how many. An admin ends any of its tenant. */
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
    const by = await this.#registry.live(principal);
    expectAdmin(by);
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
