import { errorMessage } from "@reins/kit";
import type { z } from "zod";
import { layered } from "../errors/ahp-error.ts";
import { Refusal, type RefusalReason, RPC } from "../errors/rpc.ts";
import type { Floats } from "../json/floats.ts";
import type { AhpEvent } from "../protocol/event.ts";
import { decode, encode } from "../wire/codec.ts";
import { DecodeError } from "../wire/decode-error.ts";
import { HandlerCall, HandlerEventCall } from "./call.ts";
import { Deadline } from "./deadline.ts";
import type { Awaitable, Call, EventCall, Handlers } from "./handlers.ts";
import type { ServerSettings } from "./options.ts";
import type { Peer } from "./peer.ts";
import type { Session, Sessions } from "./sessions.ts";

/** How the result of a handler is written. */
interface ResultOptions {
  /** How many containers of the response it will stand in. */
  readonly around?: number;
  /** What is written instead when the handler took too long; without it that is a {@link Refusal} as well. */
  readonly late?: (reason: string) => string;
}

/** One message on its way through the server: what came, from whom, and what answers it. */
export class Exchange {
  readonly handlers: Handlers;
  readonly settings: ServerSettings;
  readonly sessions: Sessions;
  readonly peer: Peer;
  readonly text: string;
  readonly floats: Floats | undefined;
  /** Ends when the sender has gone. */
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

  /** A time allowance for one handler. */
  deadline(milliseconds = this.settings.deadlineMs): Deadline {
    return new Deadline(this.settings.clock, milliseconds);
  }

  /** What a handler is told beside its argument. */
  call(session: Session | undefined, deadline: Deadline): Call {
    return new HandlerCall(this.peer, this.text, session, deadline);
  }

  /** What a handler of events is told beside its argument. */
  eventCall(event: AhpEvent, session: Session | undefined, deadline: Deadline): EventCall {
    return new HandlerEventCall(this.peer, this.text, session, deadline, event);
  }

  /** Runs a handler within its deadline and writes its result; whatever fails is a {@link Refusal}. */
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
