import { type Clock, errorMessage, type Floats } from "@reins/kit";
import type { z } from "zod";
import { AhpError, layered, Refusal, type RefusalReason, RPC } from "../errors.ts";
import type { AhpEvent, EventContext } from "../protocol/event.ts";
import { DecodeError, decode } from "../wire/decode.ts";
import { encode } from "../wire/encode.ts";
import type { Awaitable, Call, EventCall, Handlers, Peer } from "./handlers.ts";
import type { ServerSettings } from "./server.ts";
import type { Session, Sessions } from "./sessions.ts";

/** How the result of a handler is written. */
interface ResultOptions {
  /** The nesting level of the result in the response. */
  readonly around?: number;
  /** Makes the result of a handler that took too long; without it that is a {@link Refusal}. */
  readonly late?: (reason: string) => string;
}

/** One message in the server, with its sender and what its handlers need. */
export class Exchange {
  readonly handlers: Handlers;
  readonly settings: ServerSettings;
  readonly sessions: Sessions;
  readonly peer: Peer;
  readonly text: string;
  readonly floats: Floats | undefined;
  /** Aborts when the sender disconnects. */
  readonly gone: AbortSignal | undefined;

  constructor(
    server: { handlers: Handlers; settings: ServerSettings; sessions: Sessions },
    message: { peer: Peer; text: string; floats: Floats | undefined; gone?: AbortSignal | undefined },
  ) {
    this.handlers = server.handlers;
    this.settings = server.settings;
    this.sessions = server.sessions;
    this.peer = message.peer;
    this.text = message.text;
    this.floats = message.floats;
    this.gone = message.gone;
  }

  /** The params of a request as their type, or `Invalid params: …`. */
  params<Params>(schema: z.ZodType<Params>, params: unknown): Params {
    try {
      return decode(schema, params, this.floats);
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      const message = `Invalid params: ${error.message}`;
      throw new Refusal(RPC.invalidParams, message, "invalid_params", { path: error.path }, error);
    }
  }

  /** The session of the peer; refuses a peer without one where a handshake must come first. */
  session(names: Pick<Session, "session_id" | "agent_id"> | undefined): Session | undefined {
    const session = this.sessions.find(this.peer, names);
    if (session || !this.settings.requireHandshake) return session;
    const message = layered("protocol", "Handshake must complete before sending AHP operations");
    throw new Refusal(RPC.handshakeRequired, message, "handshake_required");
  }

  /** The deadline of one handler. */
  deadline(milliseconds = this.settings.deadlineMs): Deadline {
    return new Deadline(this.settings.clock, milliseconds);
  }

  /** Context of a handler's call. */
  call(session: Session | undefined, deadline: Deadline): Call {
    return new HandlerCall(this.peer, this.text, session, deadline);
  }

  /** Context of an event handler's call. */
  eventCall(event: AhpEvent, session: Session | undefined, deadline: Deadline): EventCall {
    return new HandlerEventCall(this.peer, this.text, session, deadline, event);
  }

  /** Runs a handler within its deadline and encodes its result; every failure is a {@link Refusal}. */
  async result(
    schema: z.ZodType,
    deadline: Deadline,
    handler: () => Awaitable<unknown>,
    { around = 1, late }: ResultOptions = {},
  ): Promise<string> {
    let value: unknown;
    try {
      value = await deadline.run(handler);
    } catch (error) {
      if (!deadline.expired) throw failure(errorMessage(error), "handler_failed", error);
      const refusal = failure(errorMessage(error), "handler_timeout", error);
      if (late) return late(refusal.message);
      throw refusal;
    }
    try {
      return encode(schema, value, around);
    } catch (error) {
      throw failure(layered("invalid_decision", errorMessage(error)), "invalid_decision", error);
    }
  }
}

/** `Handler error: …` */
export function failure(text: string, reason: RefusalReason, cause?: unknown): Refusal {
  return new Refusal(RPC.internalError, `Handler error: ${text}`, reason, {}, cause);
}

const NO_CONTEXT: EventContext = Object.freeze({});

/** Context of a handler's call. A class, because an object literal with a getter is slow to make. */
class HandlerCall implements Call {
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

/** Context of an event handler's call. */
class HandlerEventCall extends HandlerCall implements EventCall {
  readonly event: AhpEvent;
  readonly context: EventContext;

  constructor(peer: Peer, text: string, session: Session | undefined, deadline: Deadline, event: AhpEvent) {
    super(peer, text, session, deadline);
    this.event = event;
    this.context = event.context ?? NO_CONTEXT;
  }
}

/** The deadline of a handler, with the signal that aborts when it passes. */
export class Deadline {
  readonly #clock: Clock;
  readonly #milliseconds: number | undefined;
  #controller: AbortController | undefined;
  #expired: AhpError | undefined;

  constructor(clock: Clock, milliseconds: number | undefined) {
    this.#clock = clock;
    this.#milliseconds = milliseconds;
  }

  /** Aborts when the deadline passes. Created lazily, because few handlers use it. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#expired) this.#controller.abort(this.#expired);
    return this.#controller.signal;
  }

  /** Whether the deadline has passed. */
  get expired(): boolean {
    return this.#expired !== undefined;
  }

  /** The handler's result, or a rejection with `Timeout after Nms` when it comes too late. */
  run<Result>(handler: () => Awaitable<Result>): Awaitable<Result> {
    const result = handler();
    const milliseconds = this.#milliseconds;
    if (milliseconds === undefined || !isThenable(result)) return result;
    return new Promise<Result>((resolve, reject) => {
      const cancel = this.#clock.after(milliseconds, () => {
        this.#expired = AhpError.timeout(milliseconds);
        this.#controller?.abort(this.#expired);
        reject(this.#expired);
      });
      Promise.resolve(result).then(resolve, reject).finally(cancel);
    });
  }
}

/** Whether a value is a promise, also one of another library. */
function isThenable<Result>(value: Awaitable<Result>): value is Promise<Result> {
  return typeof value === "object" && value !== null && "then" in value && typeof value.then === "function";
}
