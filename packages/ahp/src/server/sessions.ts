import type { AgentInfo } from "../protocol/methods.ts";
import type { Peer } from "./peer.ts";

/** What a handshake settled between an agent and the harness. */
export interface Session {
  readonly session_id: string;
  readonly agent_id: string;
  readonly agent_info: AgentInfo;
  /** The version both sides speak. */
  readonly protocol_version: string;
  /** What both sides can do. */
  readonly capabilities: readonly string[];
  /** Names this session where a connection cannot; absent where none was issued. */
  readonly session_token: string | undefined;
}

type Names = Pick<Session, "session_id" | "agent_id">;

/**
 * The handshakes a server remembers: by connection, and up to a bound by token and by name for peers whose every
 * request is a connection of its own. A session belongs to the principal that opened it.
 */
export class Sessions {
  readonly #byPeer = new WeakMap<Peer, Session>();
  readonly #byName = new Map<string, Session>();
  readonly #byToken = new Map<string, Session>();
  readonly #byPrincipal = new Map<string, Session>();
  readonly #bound: number;

  constructor(bound: number) {
    this.#bound = bound;
  }

  /** Remembers what a handshake settled; the oldest makes room. */
  open(peer: Peer, session: Session): void {
    this.#byPeer.set(peer, session);
    if (peer.transport !== "http") return;
    this.#keep(this.#byName, nameKey(peer, session), session);
    if (peer.principal !== undefined) this.#keep(this.#byPrincipal, peer.principal, session);
    const token = session.session_token;
    if (token !== undefined) this.#keep(this.#byToken, tokenKey(peer, token), session);
  }

  /** The session of a peer: its connection's, its token's, the one its event names, or the last of its principal. */
  find(peer: Peer, names?: Names): Session | undefined {
    const session = this.#byPeer.get(peer);
    if (session || peer.transport !== "http") return session;
    const token = peer.sessionToken;
    if (token !== undefined) return this.#byToken.get(tokenKey(peer, token));
    // Clients of the reference implementation show no token, and send whole events and batches under names of their own.
    const named = names && this.#byName.get(nameKey(peer, names));
    return named ?? (peer.principal === undefined ? undefined : this.#byPrincipal.get(peer.principal));
  }

  #keep(sessions: Map<string, Session>, key: string, session: Session): void {
    sessions.delete(key);
    sessions.set(key, session);
    if (sessions.size <= this.#bound) return;
    const oldest = sessions.keys().next();
    if (!oldest.done) sessions.delete(oldest.value);
  }
}

function nameKey(peer: Peer, { session_id, agent_id }: Names): string {
  return JSON.stringify([peer.principal ?? null, session_id, agent_id]);
}

function tokenKey(peer: Peer, token: string): string {
  return JSON.stringify([peer.principal ?? null, token]);
}
