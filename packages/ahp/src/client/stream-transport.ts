import { type Clock, exponentialBackoff, JsonError, type ParsedJson, parseJson, sleep } from "@reins/kit";
import { AhpError } from "../errors.ts";
import { isObject } from "../wire/decode.ts";
import {
  type CallOptions,
  type ClientTransport,
  PendingCalls,
  type ReconnectOptions,
  type SendRequest,
} from "./transport.ts";

/** One connection of a stream transport. */
export interface Wire {
  send(text: string): void;
  /** About how many bytes the other side has not read. */
  readonly buffered: number;
  /** Ends the connection; settles when it has. */
  close(): Promise<void>;
}

/** Callbacks of a connection. */
export interface WireEvents {
  message(text: string): void;
  /** The connection ended, for any reason. Called once. */
  closed(error?: unknown): void;
}

/** Makes a connection; rejects with an {@link AhpError} when that fails. */
export type Dial = (events: WireEvents) => Promise<Wire>;

/** A connection, and whether it has broken since. */
interface Connected {
  readonly wire: Wire;
  readonly life: { broken: boolean };
}

/** The settings of a {@link StreamTransport}. */
export interface StreamOptions {
  readonly clock: Clock;
  readonly random: () => number;
  /** `undefined` never reconnects. */
  readonly reconnect: ReconnectOptions | undefined;
}

/**
 * Requests and responses over one connection at a time, correlated by id. When the connection breaks, pending calls
 * fail at once and it reconnects in the background; calls made meanwhile wait for it until their timeout.
 */
export class StreamTransport implements ClientTransport {
  readonly #dial: Dial;
  readonly #options: StreamOptions;
  readonly #pending: PendingCalls;
  readonly #end = new AbortController();
  #wire: Promise<Wire>;
  #current: Connected | undefined;
  #greet: ((request: SendRequest) => Promise<void>) | undefined;

  private constructor(dial: Dial, options: StreamOptions) {
    this.#dial = dial;
    this.#options = options;
    this.#pending = new PendingCalls(options.clock);
    this.#wire = this.#connect().then((connected) => this.#use(connected));
  }

  /** Connects; rejects when the first attempt fails. */
  static async open(dial: Dial, options: StreamOptions): Promise<StreamTransport> {
    const transport = new StreamTransport(dial, options);
    await transport.#wire;
    return transport;
  }

  readonly request: SendRequest = async (id, text, options) => {
    const live = this.#live();
    if (live) return this.#requestOn(live, id, text, options);
    const start = this.#options.clock.now().getTime();
    const wire = await this.#connected(options);
    const waited = this.#options.clock.now().getTime() - start;
    const timeoutMs = Math.max(0, options.timeoutMs - waited);
    return this.#requestOn(wire, id, text, { ...options, timeoutMs });
  };

  async notify(text: string, options: CallOptions): Promise<void> {
    const wire = this.#live() ?? (await this.#connected(options));
    expectRoom(wire, text);
    wire.send(text);
  }

  onReconnect(greet: (request: SendRequest) => Promise<void>): void {
    this.#greet = greet;
  }

  useSession(): void {
    // The connection identifies the session.
  }

  async close(): Promise<void> {
    if (this.#end.signal.aborted) return;
    this.#end.abort();
    this.#pending.fail(AhpError.closed());
    const wire = await this.#wire.catch(() => undefined);
    await wire?.close();
  }

  async #requestOn(wire: Wire, id: string, text: string, options: CallOptions): Promise<ParsedJson> {
    expectRoom(wire, text);
    const answer = this.#pending.wait(id, options);
    if (!options.signal?.aborted) wire.send(text);
    return answer;
  }

  #live(): Wire | undefined {
    const usable = this.#current && !this.#current.life.broken && !this.#end.signal.aborted;
    return usable ? this.#current?.wire : undefined;
  }

  /** The connection; waits for it up to the call's timeout. */
  async #connected({ timeoutMs, signal }: CallOptions): Promise<Wire> {
    if (this.#end.signal.aborted) throw AhpError.closed();
    const { promise, reject } = Promise.withResolvers<never>();
    const cancel = this.#options.clock.after(timeoutMs, () => reject(AhpError.timeout(timeoutMs)));
    const abort = () => reject(signal?.reason);
    signal?.addEventListener("abort", abort, { once: true });
    try {
      signal?.throwIfAborted();
      return await Promise.race([this.#wire, promise]);
    } finally {
      cancel();
      signal?.removeEventListener("abort", abort);
    }
  }

  async #connect(): Promise<Connected> {
    const life: { broken: boolean } = { broken: false };
    const dialled = this.#dial({
      message: (text) => this.#receive(text),
      closed: (cause) => {
        if (life.broken) return;
        life.broken = true;
        this.#broke(life, cause);
      },
    });
    return { wire: await dialled, life };
  }

  #use(connected: Connected): Wire {
    this.#current = connected;
    return connected.wire;
  }

  #broke(life: Connected["life"], cause: unknown): void {
    this.#pending.fail(AhpError.closed(cause));
    if (this.#end.signal.aborted || this.#current?.life !== life) return;
    discard(this.#current.wire);
    const { reconnect } = this.#options;
    this.#wire = reconnect ? this.#retryConnect(reconnect) : Promise.reject(AhpError.closed(cause));
    this.#wire.catch(() => {
      // Every call that waits for it gets the rejection.
    });
  }

  async #retryConnect(reconnect: ReconnectOptions): Promise<Wire> {
    let last: unknown;
    for (let attempt = 0; attempt < reconnect.attempts && !this.#end.signal.aborted; attempt += 1) {
      const { clock, random } = this.#options;
      await sleep(exponentialBackoff(reconnect, attempt + 1, random()), clock, this.#end.signal);
      if (this.#end.signal.aborted) break;
      try {
        return this.#use(await this.#reconnect());
      } catch (error) {
        last = error;
      }
    }
    throw AhpError.closed(last);
  }

  /** Opens a new connection and repeats the handshake; closes it if that fails. */
  async #reconnect(): Promise<Connected> {
    const connected = await this.#connect();
    try {
      if (this.#end.signal.aborted) throw AhpError.closed();
      await this.#greet?.((id, text, options) => this.#requestOn(connected.wire, id, text, options));
      if (connected.life.broken) throw AhpError.closed();
      return connected;
    } catch (error) {
      discard(connected.wire);
      throw error;
    }
  }

  /** Ignores everything but responses to pending calls: stray prints, late responses, requests. */
  #receive(text: string): void {
    const answer = readResponse(text);
    if (isObject(answer?.value) && typeof answer.value.id === "string")
      this.#pending.answer(answer.value.id, answer);
  }
}

/** The most unread bytes of a harness that does not read. */
const MOST_BUFFERED = 16 * 1024 * 1024;

/** Rejects a message if too many bytes are unread; a single message can have any size. */
function expectRoom({ buffered }: Wire, text: string): void {
  if (buffered === 0 || buffered + text.length <= MOST_BUFFERED) return;
  throw new AhpError("transport", "the harness does not read, and too much waits for it");
}

/** Closes a connection that is no longer used. */
function discard(wire: Wire): void {
  wire.close().catch(() => {
    // It was broken anyway.
  });
}

function readResponse(text: string): ParsedJson | undefined {
  try {
    return parseJson(text);
  } catch (error) {
    if (error instanceof JsonError) return undefined;
    throw error;
  }
}
