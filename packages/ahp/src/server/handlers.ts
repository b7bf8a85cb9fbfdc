import type { Decision } from "../protocol/decisions.ts";
import type { AhpEvent, EventContext, SpecialisedEventType } from "../protocol/event.ts";
import type { Decisions, Payloads } from "../protocol/families.ts";
import type { QueryRequest, QueryResponse } from "../protocol/messages.ts";
import type { Session } from "./sessions.ts";

/** A value now or later. */
export type Awaitable<Value> = Value | Promise<Value>;

/** The context of a handler's call. */
export interface Call {
  readonly peer: Peer;
  /** The session of the handshake; absent without one. */
  readonly session: Session | undefined;
  /** Aborts when the deadline has passed. */
  readonly signal: AbortSignal;
  /** The received message; typed values lack the members that the protocol does not know. */
  readonly text: string;
}

/** A call about one event. */
export interface EventCall extends Call {
  readonly event: AhpEvent;
  /** The event's context; empty if it has none. */
  readonly context: EventContext;
}

/** Decides on the events of one family; the payload has been checked. */
export type SpecialisedHandlers = {
  readonly [Type in SpecialisedEventType]?: (
    payload: Payloads[Type],
    call: EventCall,
  ) => Awaitable<Decisions[Type]>;
};

/**
 * The handlers of a harness. Only `event` is required: without the others `idle` is allowed, notifications are accepted
 * and forgotten, and every other family is answered as not supported.
 *
 * A handler that throws is answered with an error, in a batch with a block. Its result is checked like any
 * message; anything but a decision is an error too.
 */
export interface Handlers extends SpecialisedHandlers {
  /** Decides on `pre_action`, `pre_prompt`, and on every event of a batch. */
  event(event: AhpEvent, call: EventCall): Awaitable<Decision>;
  /** Handles an event without a decision. */
  notification?(event: AhpEvent, call: EventCall): Awaitable<void>;
  /** Answers a question of the agent. */
  query?(request: QueryRequest, call: Call): Awaitable<QueryResponse>;
}

/** The ways in which a message can reach a server. */
export type TransportName = "stdio" | "http" | "websocket" | "unix" | "memory";

/**
 * The sender of a message. On streams one peer stands for one connection, so its identity carries the handshake;
 * over HTTP each request has a peer of its own and `sessionToken` carries it.
 */
export interface Peer {
  readonly transport: TransportName;
  /** The authenticated principal; absent without authentication. */
  readonly principal?: string | undefined;
  /** The token of an earlier handshake, where the transport has a place for it. */
  readonly sessionToken?: string | undefined;
}

/** A peer in the same process. */
export function memoryPeer(): Peer {
  return { transport: "memory" };
}
