import type { EventContext } from "../protocol/context.ts";
import type { AhpEvent } from "../protocol/event.ts";
import type { Deadline } from "./deadline.ts";
import type { Call, EventCall } from "./handlers.ts";
import type { Peer } from "./peer.ts";
import type { Session } from "./sessions.ts";

const NO_CONTEXT: EventContext = Object.freeze({});

/** What a handler is told beside its argument. A class, because an object literal with a getter is slow to make. */
export class HandlerCall implements Call {
  readonly peer: Peer;
  readonly text: string;
  readonly session: Session | undefined;
  readonly #deadline: Deadline;

  constructor(peer: Peer, text: string, session: Session | undefined, deadline: Deadline) {
    this.peer = peer;
    this.text = text;
    this.session = session;
    this.#deadline = deadline;
  }

  get signal(): AbortSignal {
    return this.#deadline.signal;
  }
}

/** What a handler of events is told beside its argument. */
export class HandlerEventCall extends HandlerCall implements EventCall {
  readonly event: AhpEvent;
  readonly context: EventContext;

  constructor(peer: Peer, text: string, session: Session | undefined, deadline: Deadline, event: AhpEvent) {
    super(peer, text, session, deadline);
    this.event = event;
    this.context = event.context ?? NO_CONTEXT;
  }
}
