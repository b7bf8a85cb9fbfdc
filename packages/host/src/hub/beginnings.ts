import { randomUUID } from "node:crypto";
import { CODE, type JsonObject, membersOf, RpcError } from "@reins/acp";
import type { GovernedSession } from "../governor/governed-session.ts";
import type { HostedAgent } from "../hosting/agent-host.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import { agentIn, metadataIn, modeIn } from "./begin-meta.ts";
import type { Connection } from "./connection.ts";
import type { HubContext, SessionCall } from "./context.ts";
import type { LiveSession } from "./live-session.ts";
import { agentOf, hasServers, rootsIn, rootsOf } from "./revival.ts";

/** A session that is not known yet, and who begins it. */
interface Beginning {
  readonly connection: Connection;
  session?: LiveSession;
}

/** How sessions begin: with an agent, and with whoever begins them in front of them from the first question on. */
export class Beginnings {
  readonly #context: HubContext;
  /** Those that are under way, by the mark that the governor gives back. */
  readonly #underWay = new Map<string, Beginning>();
  /** Where what the governor still says of a session goes, also after it has ended: nothing brings it back to life. */
  readonly #admitted = new WeakMap<GovernedSession, LiveSession>();

  constructor(context: HubContext) {
    this.#context = context;
  }

  /** Begins a session. */
  async begin(connection: Connection, params: JsonObject, signal: AbortSignal): Promise<unknown> {
    const name = agentIn(params) ?? connection.agent;
    if (name === undefined) throw new RpcError(CODE.invalidParams, "session/new has to name an agent");
    const apart = hasServers(params) ? randomUUID() : undefined;
    const agent = await this.#context.pool.acquire(name, connection.principal, rootsIn(params) ?? [], apart);
    return this.#begin(connection, agent, { method: "session/new", params, signal });
  }

  /** Begins a session that goes on from where another is. */
  async fork(
    connection: Connection,
    record: SessionRecord,
    params: JsonObject,
    signal: AbortSignal,
  ): Promise<unknown> {
    const { log, sessions, pool } = this.#context;
    await agentOf(this.#context, sessions.serve(record), { signal });
    const apart = hasServers(params, record) ? randomUUID() : undefined;
    const roots = rootsIn(params) ?? rootsOf(record);
    const agent = await pool.acquire(record.agent, connection.principal, roots, apart);
    const { order: forked_after } = await log.end(record.tenant);
    const result = await this.#begin(connection, agent, { method: "session/fork", params, signal });
    const session = sessions.get(String(membersOf(result).sessionId));
    const origin = { forked_from: record.id, forked_after };
    if (session) await sessions.keep(session, { metadata: { ...session.record.metadata, ...origin } });
    return result;
  }

  /** A session as the governor begins it, with its place here. */
  admit(governed: GovernedSession): LiveSession {
    const admitted = this.#admitted.get(governed);
    if (admitted) return admitted;
    const { sessions } = this.#context;
    const beginning = governed.mark === undefined ? undefined : this.#underWay.get(governed.mark);
    const known = sessions.get(governed.id);
    // One that nobody begins was being taken up, and has ended meanwhile.
    const session = known ?? (beginning ? sessions.serve(governed.record) : sessions.apart(governed.record));
    this.#admitted.set(governed, session);
    if (known || !beginning) return session;
    beginning.session = session;
    beginning.connection.attach(session, 0);
    return session;
  }

  async #begin(
    connection: Connection,
    agent: HostedAgent,
    { method, params, signal }: SessionCall,
  ): Promise<unknown> {
    const { clock, newId, sessions } = this.#context;
    const mark = newId();
    const { descent, begun } = connection;
    const beginning: Beginning = { connection };
    this.#underWay.set(mark, beginning);
    try {
      const result = membersOf(
        await agent.governor.request(method, params, { signal, mark, descent, begun }),
      );
      const governed = agent.governor.session(String(result.sessionId));
      if (!governed) throw new RpcError(CODE.internal, "the agent began no session");
      const session = this.admit(governed);
      // A question on the way may have admitted it before the agent had given it a name.
      session.record = governed.record;
      session.agent = agent;
      session.used = clock.now().getTime();
      session.learn(result);
      connection.attach(session, 0);
      sessions.tell(session);
      await this.#annotate(session, params);
      return result;
    } catch (error) {
      const { session } = beginning;
      if (session && !session.agent) {
        connection.detach(session.id);
        sessions.forget(session.id);
      }
      throw error;
    } finally {
      this.#underWay.delete(mark);
    }
  }

  /** Keeps what whoever began a session says of it. */
  async #annotate(session: LiveSession, params: JsonObject): Promise<void> {
    const { harness, sessions } = this.#context;
    const { title, ...metadata } = membersOf(harness.redact(metadataIn(params)));
    const mode = modeIn(params);
    if (title === undefined && mode === undefined && Object.keys(metadata).length === 0) return;
    await sessions.keep(session, {
      ...(mode !== undefined && { mode }),
      ...(typeof title === "string" && { title }),
      metadata: { ...session.record.metadata, ...metadata, ...(title !== undefined && { title }) },
    });
  }
}
