import { Refusal, RPC } from "../errors/rpc.ts";
import type { Clock } from "../ports/clock.ts";
import type { Peer } from "../server/peer.ts";
import { errorText } from "../server/reply.ts";
import type { AhpServer } from "../server/server.ts";
import type { Limits } from "./limits.ts";

/** A two-way stream of messages, as a transport offers it. */
export interface Link {
  /** Sends one message. Never waits; {@link buffered} tells how much is on its way. */
  send(text: string): void;
  /** Bytes that the peer has not taken yet. */
  readonly buffered: number;
  /** Stops and goes on reading. */
  pause(): void;
  resume(): void;
  /** Ends the connection once everything is sent. */
  close(): void;
  /** Ends the connection at once. */
  destroy(): void;
}

/**
 * One connection to a server. Requests are worked on side by side, so a slow one delays nobody; when there are too
 * many, or when the peer does not read its replies, the connection stops reading until that is over. In compatibility
 * mode they are worked on one after the other, as upstream does.
 */
export class Connection {
  readonly #server: AhpServer;
  readonly #link: Link;
  readonly #peer: Peer;
  readonly #limits: Limits;
  readonly #clock: Clock;
  readonly #waiting: string[] = [];
  readonly #idle = Promise.withResolvers<void>();
  #inFlight = 0;
  #paused = false;
  #ending = false;
  readonly #left = new AbortController();
  #gone = false;
  #callOffStall: (() => void) | undefined;

  constructor(server: AhpServer, link: Link, peer: Peer, limits: Limits) {
    this.#server = server;
    this.#link = link;
    this.#peer = peer;
    this.#limits = server.settings.compat ? { ...limits, maxInFlight: 1 } : limits;
    this.#clock = server.settings.clock;
  }

  /** Takes one message. */
  receive(text: string): void {
    if (this.#gone) return;
    if (this.#isFull()) {
      this.#waiting.push(text);
      this.#pause();
      return;
    }
    this.#inFlight += 1;
    void this.#answer(text);
  }

  /** Answers a message that was too large, or not text, to be handed on. */
  refuse(fault: "too_large" | "invalid_utf8"): void {
    const details = fault === "too_large" ? { fault, limit: this.#limits.maxMessageBytes } : { fault };
    const refusal = new Refusal(RPC.parseError, "Parse error", "parse_error", details);
    if (this.#server.settings.compat) this.#server.dropped(refusal.message, "");
    else this.#send(errorText(null, refusal, false));
  }

  /** Tells that the peer has read what was buffered. */
  drained(): void {
    this.#callOffStall?.();
    this.#callOffStall = undefined;
    this.#resume();
  }

  /** Lets requests under way finish, then closes the link. Settles when the last one has. */
  end(): Promise<void> {
    this.#ending = true;
    this.#closeWhenIdle();
    return this.#idle.promise;
  }

  /** Tells that the link is gone; results of requests under way are dropped. */
  lost(): void {
    this.#gone = true;
    this.#left.abort();
    this.#waiting.length = 0;
    this.#callOffStall?.();
    this.#idle.resolve();
  }

  async #answer(text: string): Promise<void> {
    const { reply } = await this.#server.handle(text, this.#peer, this.#left.signal);
    this.#inFlight -= 1;
    if (this.#gone) return;
    if (reply !== undefined) this.#send(reply);
    this.#resume();
    this.#closeWhenIdle();
  }

  #send(text: string): void {
    this.#link.send(text);
    if (this.#link.buffered <= this.#limits.maxBufferedBytes || this.#callOffStall) return;
    this.#pause();
    this.#callOffStall = this.#clock.after(this.#limits.stallMs, () => this.#link.destroy());
  }

  #isFull(): boolean {
    return (
      this.#waiting.length > 0 ||
      this.#inFlight >= this.#limits.maxInFlight ||
      this.#callOffStall !== undefined
    );
  }

  #pause(): void {
    if (this.#paused) return;
    this.#paused = true;
    this.#link.pause();
  }

  #resume(): void {
    while (this.#waiting.length > 0 && this.#inFlight < this.#limits.maxInFlight && !this.#callOffStall) {
      const next = this.#waiting.shift();
      if (next === undefined) break;
      this.#inFlight += 1;
      void this.#answer(next);
    }
    if (!this.#paused || this.#isFull()) return;
    this.#paused = false;
    this.#link.resume();
  }

  #closeWhenIdle(): void {
    if (!this.#ending || this.#inFlight > 0 || this.#waiting.length > 0 || this.#gone) return;
    this.#link.close();
    this.#idle.resolve();
  }
}
