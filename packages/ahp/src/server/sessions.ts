import { Refusal, RPC } from "../errors.ts";
import {
  type AgentInfo,
  type HandshakeRequest,
  type HandshakeResponse,
  PROTOCOL_VERSION,
} from "../protocol/messages.ts";
import type { Peer } from "./handlers.ts";
import type { ServerSettings } from "./server.ts";

/** The result of a handshake between an agent and the harness. */
export interface Session {
  readonly session_id: string;
  readonly agent_id: string;
  readonly agent_info: AgentInfo;
  /** The version both sides speak. */
  readonly protocol_version: string;
  /** The capabilities of both sides. */
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

  /** Stores the session of a handshake; beyond the bound the oldest is evicted. */
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

/** Settles version and capabilities with an agent, or refuses a version of another major. */
export function acceptHandshake(
  request: HandshakeRequest,
  settings: ServerSettings,
): { response: HandshakeResponse; session: Session } {
  const { protocol_version, agent_info, session_id, agent_id } = request;
  if (majorOf(protocol_version) !== majorOf(PROTOCOL_VERSION)) {
    const details = { supported: PROTOCOL_VERSION };
    const message = `Unsupported protocol version: ${protocol_version}`;
    throw new Refusal(RPC.unsupportedVersion, message, "unsupported_version", details);
  }
  const version = settings.compat ? PROTOCOL_VERSION : lowerMinor(protocol_version);
  const session_token = settings.compat ? undefined : settings.newToken();
  const offered = new Set(agent_info.capabilities);
  const capabilities = settings.info.capabilities.filter((capability) => offered.has(capability));
  return {
    response: {
      protocol_version: version,
      harness_info: settings.info,
      session_token,
      config: settings.config,
    },
    session: { session_id, agent_id, agent_info, protocol_version: version, capabilities, session_token },
  };
}

/** Versions of one major understand each other; the major is the text before the first dot. */
function majorOf(version: string): string | undefined {
  return version.split(".", 1)[0];
}

/** The older of the agent's version and ours; a version without a readable minor is taken for ours. */
function lowerMinor(version: string): string {
  const minor = /^\d+\.(\d+)$/.exec(version)?.[1];
  const ours = Number(PROTOCOL_VERSION.split(".")[1]);
  return minor !== undefined && Number(minor) < ours ? version : PROTOCOL_VERSION;
}
