import {
  type AgentRunner,
  CloseParams,
  HaakError,
  InitParams,
  type NumberedEvent,
  parseParams,
  RunParams,
  SessionParams,
} from "@reins/haak";
import { JsonError, readJson } from "@reins/kit";
import type { Harness, Principal } from "@reins/supervisor";
import type { WebSocket } from "ws";
import { z } from "zod";
import type { Log } from "../limits.ts";
import { CLOSE, TextSocket, type TextSocketOptions } from "../streams/web-socket.ts";

export interface HaakClientOptions extends TextSocketOptions {
  readonly principal: Principal;
  readonly identity: Harness["identity"];
  readonly runner: AgentRunner;
  readonly log: Log;
}

/** The most concurrent requests of a client. */
const MOST_UNDER_WAY = 256;

/** One client of `/ws`: a request per frame; events and responses follow as they come. */
export class HaakClient {
  readonly #options: HaakClientOptions;
  readonly #socket: TextSocket;
  #underWay = 0;
  /** Settles before the next request starts. */
  #before: Promise<unknown> = Promise.resolve();

  constructor(socket: WebSocket, options: HaakClientOptions) {
    this.#options = options;
    this.#socket = new TextSocket(socket, options, {
      text: (text) => this.#take(text),
      mayStay: async () => (await this.#principal().catch(() => undefined)) !== undefined,
      binary: () => this.#socket.close(CLOSE.unsupported, "frames are text"),
    });
  }

  /** Closes the connection. Its sessions and turns continue. */
  leave(reason: string): Promise<void> {
    return this.#socket.leave(reason);
  }

  async #take(text: string): Promise<void> {
    const frame = frameIn(text);
    if (frame.kind === "fault") {
      await this.#fail(frame.envelope, new HaakError("invalid_request", frame.reason));
      return;
    }
    const { envelope, method, params } = frame;
    if (this.#underWay >= MOST_UNDER_WAY) {
      await this.#fail(envelope, new HaakError("queue_full", `${MOST_UNDER_WAY} requests are under way`));
      return;
    }
    await this.#before;
    const answering = this.#answer(envelope, method, params);
    // The next frame may use the session. Everything else runs concurrently.
    if (method === "session.init") this.#before = answering;
  }

  /** Responds to a request. Never rejects: an error becomes an error response. */
  async #answer(envelope: Envelope, method: string, params: unknown): Promise<void> {
    this.#underWay += 1;
    try {
      const result = await this.#call(envelope, method, params);
      await this.#send({ ...envelope, result });
    } catch (error) {
      await this.#fail(envelope, error);
    } finally {
      this.#underWay -= 1;
    }
  }

  async #call(envelope: Envelope, method: string, params: unknown): Promise<object> {
    const { haak } = this.#options.runner;
    const principal = await this.#principal();
    switch (method) {
      case "session.init":
        return haak.init(principal, parseParams(InitParams, method, params));
      case "turn.run": {
        const emit = (event: NumberedEvent) => this.#send({ ...envelope, event });
        await haak.run(principal, parseParams(RunParams, method, params), emit);
        return { status: "complete" };
      }
      case "session.cancel":
        await haak.cancel(principal, parseParams(SessionParams, method, params).session_key);
        return { ok: true };
      case "session.close": {
        const { session_key, reason } = parseParams(CloseParams, method, params);
        await haak.close(principal, session_key, reason);
        return { ok: true };
      }
      case "session.status":
        return {
          state: await haak.status(principal, parseParams(SessionParams, method, params).session_key),
        };
      default:
        throw new HaakError("method_not_found", `there is no method ${method.slice(0, 100)}`);
    }
  }

  /** The current principal of the connection. */
  async #principal(): Promise<Principal> {
    const { identity, principal } = this.#options;
    const now = await identity.current(principal);
    if (now?.tenant === principal.tenant) return now;
    throw new HaakError("unauthenticated", "the token was revoked or has expired");
  }

  #fail(envelope: Envelope, error: unknown): undefined | Promise<void> {
    const { log } = this.#options;
    const { code, message } = HaakError.of(error);
    if (code === "internal") log.warn({ err: error }, "a request over /ws failed");
    return this.#send({ ...envelope, error: { code, message } });
  }

  /** Never throws: a failed write closes only this connection. */
  #send(frame: object): undefined | Promise<void> {
    try {
      return this.#socket.send(JSON.stringify(frame));
    } catch (error) {
      this.#options.log.warn({ err: error }, "a frame over /ws could not be written");
      this.#socket.close(CLOSE.internal, "a response could not be written");
      return undefined;
    }
  }
}

const Request = z.looseObject({
  jsonrpc: z.unknown().optional(),
  id: z.unknown().optional(),
  method: z.string(),
  params: z.unknown().optional(),
});

/** A parsed request, or the reason why a text is none. */
export type Frame =
  | {
      readonly kind: "request";
      readonly envelope: Envelope;
      readonly method: string;
      readonly params: unknown;
    }
  | { readonly kind: "fault"; readonly envelope: Envelope; readonly reason: string };

/** The members that a response repeats: the id, and the version if the client sent one. */
export type Envelope = Readonly<Record<string, unknown>>;

/** Parses a request. */
export function frameIn(text: string): Frame {
  const read = parsed(text);
  if (read === undefined) return fault({ id: null }, "this is no JSON, or is nested too deep");
  const { value, duplicate } = read;
  if (duplicate !== undefined) return fault({ id: null }, JsonError.duplicate(duplicate).message);
  const { data } = Request.safeParse(value);
  if (!data) return fault({ id: idIn(value) }, "a request is an object with id, method and params");
  const { jsonrpc, id = null, method, params } = data;
  const envelope = jsonrpc === undefined ? { id } : { jsonrpc, id };
  return { kind: "request", envelope, method, params };
}

function fault(envelope: Envelope, reason: string): Frame {
  return { kind: "fault", envelope, reason };
}

function idIn(value: unknown): unknown {
  return typeof value === "object" && value !== null && "id" in value ? value.id : null;
}

function parsed(text: string): ReturnType<typeof readJson> | undefined {
  try {
    return readJson(text);
  } catch {
    return undefined;
  }
}
