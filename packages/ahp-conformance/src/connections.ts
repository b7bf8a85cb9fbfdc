import type { Credentials, Target } from "./channels/channel.ts";
import { type HttpChannel, openHttp } from "./channels/http.ts";
import { type LineChannel, openStdio, openUnix } from "./channels/lines.ts";
import { openWebSocket, type WebSocketChannel } from "./channels/websocket.ts";

/** The connections of a run: one that checks share, and those that a check takes for itself. */
export class Connections {
  readonly target: Target;
  readonly credentials: Credentials | undefined;
  readonly #noise = new Set<string>();
  readonly #strays: string[] = [];
  #shared: Promise<AnyChannel> | undefined;
  #current: AnyChannel | undefined;
  #own: AnyChannel[] = [];
  #doubtful = false;

  constructor(target: Target, credentials: Credentials | undefined) {
    this.target = target;
    this.credentials = credentials;
  }

  /** What came over connections that is no response, as far as they are closed. */
  get noise(): readonly string[] {
    return [...this.#noise];
  }

  /** Messages that answer nothing and that no check was looking for. */
  get strays(): readonly string[] {
    return this.#strays;
  }

  /** The shared connection; reconnects if it was closed. Rejects when that fails. */
  shared(prepare: (channel: AnyChannel) => Promise<unknown>): Promise<AnyChannel> {
    if (!this.#shared || this.#current?.ended !== undefined) this.#shared = this.#renew(prepare);
    return this.#shared;
  }

  /** A connection of a check's own, closed after it. */
  async own(credentials = this.credentials, target = this.target): Promise<AnyChannel> {
    return this.#keep(await openChannel(target, credentials));
  }

  /** A connection of a check's own without credentials. */
  async anonymous(target = this.target): Promise<AnyChannel> {
    return this.#keep(await openChannel(target, undefined));
  }

  /** Discards the unclaimed messages of a connection. */
  sweep(channel: AnyChannel): void {
    this.#strays.push(...channel.unclaimed());
  }

  /** Records that a response is outstanding, which could later be mistaken for another one's. */
  doubt(): void {
    this.#doubtful = true;
  }

  /** Closes the connections of a failed check, so that it does not affect others. */
  async recover(): Promise<void> {
    if (this.#doubtful) await this.close();
    else await this.closeOwn();
  }

  /** Closes the connections of a check. */
  async closeOwn(): Promise<void> {
    const own = this.#own;
    this.#own = [];
    for (const channel of own) await this.#close(channel);
  }

  /** Closes every connection. */
  async close(): Promise<void> {
    await this.closeOwn();
    const current = this.#current;
    this.#doubtful = false;
    this.#current = undefined;
    this.#shared = undefined;
    if (current) await this.#close(current);
  }

  async #renew(prepare: (channel: AnyChannel) => Promise<unknown>): Promise<AnyChannel> {
    const former = this.#current;
    this.#current = undefined;
    if (former) await this.#close(former);
    try {
      this.#current = await openChannel(this.target, this.credentials);
      await prepare(this.#current);
      return this.#current;
    } catch (error) {
      this.#shared = undefined;
      throw error;
    }
  }

  #keep(channel: AnyChannel): AnyChannel {
    this.#own.push(channel);
    return channel;
  }

  async #close(channel: AnyChannel): Promise<void> {
    this.sweep(channel);
    for (const text of channel.noise) this.#noise.add(text);
    await channel.close();
  }
}

/** A channel of any transport. */
export type AnyChannel = LineChannel<"stdio"> | LineChannel<"unix"> | WebSocketChannel | HttpChannel;

/** Opens a new connection to the target. Rejects with an {@link AhpError} when it cannot be reached. */
function openChannel(target: Target, credentials: Credentials | undefined): Promise<AnyChannel> {
  switch (target.transport) {
    case "stdio":
      return openStdio(target);
    case "unix":
      return openUnix(target);
    case "websocket":
      return openWebSocket(target, credentials);
    case "http":
      return openHttp(target, credentials);
  }
}
