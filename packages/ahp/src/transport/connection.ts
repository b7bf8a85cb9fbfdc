import type { Server } from "node:net";
import { type Clock, errorMessage } from "@reins/kit";
import { AhpError, Refusal, RPC } from "../errors.ts";
import type { Peer } from "../server/handlers.ts";
import { errorText } from "../server/message.ts";
import type { AhpServer, Lane, ReadMessage } from "../server/server.ts";
import type { InFlight, Limits, Place, Sender } from "./limits.ts";

/** A two-way stream of messages of a transport. */
export interface Link {
  /** Sends one message. Never waits; {@link buffered} is the unsent amount. */
  send(text: string): void;
  /** Bytes that the peer has not taken yet. */
  readonly buffered: number;
  /** Stops and resumes reading. */
  pause(): void;
  resume(): void;
  /** Ends the connection once everything is sent. */
  close(): void;
  /** Ends the connection at once. */
  destroy(): void;
}

/** The limits of a connection, and the capacity that it shares with others. */
export interface ConnectionLimits {
  readonly limits: Limits;
  readonly inFlight: InFlight;
}

/** A message that was read, and its claim on capacity. */
interface Message extends ReadMessage {
  readonly bytes: number;
}

/**
 * One connection to a server. Requests are worked on side by side, so a slow one delays no other. When too many wait for a
 * decision more of them queue, and everything else continues; when the queue is full too, or when the peer does not read its
 * replies, the connection stops reading until that is over. In compatibility mode all are worked on one after the other,
 * as upstream does.
 */
export class Connection {
  readonly #server: AhpServer;
  readonly #link: Link;
  readonly #peer: Peer;
  readonly #limits: Limits;
  readonly #shared: InFlight;
  readonly #sender: Sender;
  readonly #clock: Clock;
  readonly #queues: Readonly<Record<Lane, Message[]>> = { decisions: [], others: [] };
  readonly #inFlight: Record<Lane, number> = { decisions: 0, others: 0 };
  readonly #idle = Promise.withResolvers<void>();
  readonly #released = () => this.#resume();
  #queuedBytes = 0;
  #paused = false;
  #ending = false;
  readonly #left = new AbortController();
  #gone = false;
  #cancelStall: (() => void) | undefined;

  constructor(server: AhpServer, link: Link, peer: Peer, { limits, inFlight }: ConnectionLimits) {
    this.#server = server;
    this.#link = link;
    this.#peer = peer;
    this.#limits = server.settings.compat ? { ...limits, maxInFlight: 1 } : limits;
    this.#shared = inFlight;
    this.#sender = { principal: peer.principal ?? "", peer: this };
    this.#clock = server.settings.clock;
  }

  /** Takes one message. */
  receive(text: string): void {
    if (this.#gone) return;
    const { lane, sender, run } = this.#server.read(text, this.#peer);
    const message = { lane: this.#server.settings.compat ? "decisions" : lane, sender, run } as const;
    const bytes = text.length;
    if (this.#queues[message.lane].length === 0 && this.#start({ ...message, bytes })) return;
    this.#queues[message.lane].push({ ...message, bytes });
    this.#queuedBytes += bytes;
    if (this.#isFull()) this.#pause();
  }

  /** Answers a message that was too large, or not text, to be handed on. */
  refuse(fault: "too_large" | "invalid_utf8"): void {
    const details = fault === "too_large" ? { fault, limit: this.#limits.maxMessageBytes } : { fault };
    const refusal = new Refusal(RPC.parseError, "Parse error", "parse_error", details);
    if (this.#server.settings.compat) this.#server.dropped(refusal.message, "");
    else this.#send(errorText(null, refusal, false));
  }

  /** Call when the peer has read all buffered messages. */
  drained(): void {
    this.#cancelStall?.();
    this.#cancelStall = undefined;
    this.#resume();
  }

  /** Waits for running requests, then closes the link. */
  end(): Promise<void> {
    this.#ending = true;
    this.#closeWhenIdle();
    return this.#idle.promise;
  }

  /** Call when the link is lost; results of running requests are dropped. */
  lost(): void {
    this.#gone = true;
    this.#left.abort();
    this.#queues.decisions.length = 0;
    this.#queues.others.length = 0;
    this.#shared.forget(this.#released);
    this.#cancelStall?.();
    this.#idle.resolve();
  }

  /** Begins to work on a message, unless it has to wait. */
  #start(message: Message): boolean {
    const { lane, bytes } = message;
    if (this.#cancelStall || this.#inFlight[lane] >= this.#limits.maxInFlight) return false;
    const place = this.#shared.take(lane, this.#sender, bytes);
    if (!place) {
      this.#shared.whenReleased(this.#released);
      return false;
    }
    this.#inFlight[lane] += 1;
    void this.#answer(message, place);
    return true;
  }

  async #answer({ lane, run }: Message, place: Place): Promise<void> {
    const { reply } = await run(this.#left.signal);
    place.release();
    this.#inFlight[lane] -= 1;
    if (this.#gone) return;
    if (reply !== undefined) this.#send(reply);
    this.#resume();
    this.#closeWhenIdle();
  }

  #send(text: string): void {
    this.#link.send(text);
    if (this.#link.buffered <= this.#limits.maxBufferedBytes || this.#cancelStall) return;
    this.#pause();
    this.#cancelStall = this.#clock.after(this.#limits.stallMs, () => this.#link.destroy());
  }

  get #queued(): number {
    return this.#queues.decisions.length + this.#queues.others.length;
  }

  #isFull(): boolean {
    const { maxInFlight, maxMessageBytes } = this.#limits;
    return (
      this.#queued >= maxInFlight || this.#queuedBytes >= maxMessageBytes || this.#cancelStall !== undefined
    );
  }

  #pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.#link.pause();
  }

  #resume(): void {
    if (this.#gone) return;
    for (const queue of [this.#queues.others, this.#queues.decisions]) {
      for (let next = queue[0]; next && this.#start(next); next = queue[0]) {
        queue.shift();
        this.#queuedBytes -= next.bytes;
      }
    }
    if (!this.#paused || this.#queued > 0 || this.#cancelStall) return;
    this.#paused = false;
    this.#link.resume();
  }

  #closeWhenIdle(): void {
    const { decisions, others } = this.#inFlight;
    if (!this.#ending || decisions + others + this.#queued > 0 || this.#gone) return;
    this.#link.close();
    this.#idle.resolve();
  }
}

/** Something that can end gently or at once. */
export interface Drainable {
  end(): Promise<void>;
  destroy(): void;
}

/** Waits for the running requests of every connection up to a timeout, then ends them all. */
export async function drain(open: Iterable<Drainable>, milliseconds: number, clock: Clock): Promise<void> {
  const connections = [...open];
  const late = Promise.withResolvers<void>();
  const cancel = clock.after(milliseconds, late.resolve);
  await Promise.race([Promise.all(connections.map((connection) => connection.end())), late.promise]);
  cancel();
  for (const connection of connections) connection.destroy();
}

/** Starts listening and waits for it; an error names the address. */
export async function listening(listener: Server, place: string, start: () => void): Promise<void> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const fail = (error: Error) =>
    reject(new AhpError("transport", `Cannot listen on ${place}: ${advice(error)}`, { cause: error }));
  listener.once("error", fail);
  listener.once("listening", resolve);
  try {
    start();
    await promise;
  } finally {
    listener.off("error", fail);
    listener.off("listening", resolve);
  }
}

function advice(error: Error): string {
  const code = "code" in error ? error.code : undefined;
  if (code === "EADDRINUSE") return "something else listens there; stop it or choose another";
  if (code === "EACCES") return "permission denied";
  return errorMessage(error);
}

/** A server that listens somewhere. */
export interface Served {
  /** The address: `http://127.0.0.1:18789/ahp`, a socket's path, `stdio`. */
  readonly address: string;
  /** Settles when it has stopped, by {@link close} or because its input ended. */
  readonly closed: Promise<void>;
  /** Stops accepting, waits for running requests up to the drain timeout, then closes. Idempotent. */
  close(): Promise<void>;
}
