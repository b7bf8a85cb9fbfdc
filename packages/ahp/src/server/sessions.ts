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
  readonly #byKey = new Map<string, Session>();
  readonly #bound: number;

  constructor(bound: number) {
    this.#bound = bound;
  }

  /** Remembers what a handshake settled; the oldest makes room. */
  open(peer: Peer, session: Session): void {
    this.#byPeer.set(peer, session);
    if (peer.transport !== "http") return;
    this.#keep(nameKey(peer, session), session);
    if (session.session_token !== undefined) this.#keep(tokenKey(peer, session.session_token), session);
  }

  /** The session of a peer: its connection's, its token's, or the one its event names. */
  find(peer: Peer, names?: Names): Session | undefined {
    const session = this.#byPeer.get(peer);
    if (session || peer.transport !== "http") return session;
    const token = peer.sessionToken;
    if (token !== undefined) return this.#byKey.get(tokenKey(peer, token));
    return names && this.#byKey.get(nameKey(peer, names));
  }

  #keep(key: string, session: Session): void {
    this.#byKey.delete(key);
    this.#byKey.set(key, session);
    if (this.#byKey.size <= this.#bound) return;
    const oldest = this.#byKey.keys().next();
    if (!oldest.done) this.#byKey.delete(oldest.value);
  }
}

function nameKey(peer: Peer, { session_id, agent_id }: Names): string {
  return JSON.stringify(["name", peer.principal ?? null, session_id, agent_id]);
}

function tokenKey(peer: Peer, token: string): string {
  return JSON.stringify(["token", peer.principal ?? null, token]);
}
