import type { ServerResponse } from "node:http";
import { Duplex } from "node:stream";
import type { Clock } from "@reins/kit";

/** How a stream treats a reader that does not read. */
export interface StreamLimits {
  readonly keepAliveMs: number;
  readonly maxBufferedBytes: number;
  readonly stallMs: number;
}

/** One server-sent event. Data is JSON, which has no line ends of its own. */
export function eventText(event: string, id: number | string, data: unknown): string {
  return `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

/** Tells a reader where the stream stands, without telling it of anything. */
export function positionText(id: number | string): string {
  return `id: ${id}\n\n`;
}

const ALIVE = ": alive\n\n";

/**
 * Server-sent events to one reader. Whoever writes waits for the reader; one that stops reading costs a bounded amount
 * of memory for a bounded time, and is then dropped.
 */
export class EventStream {
  /** Aborted when the reader has gone, was dropped, or the stream was ended. */
  readonly closed: AbortSignal;
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  readonly #limits: StreamLimits;
  readonly #end = new AbortController();
  /** When the reader last took something. */
  #taken: number;
  /** Whoever waits for the reader. */
  #waiting: PromiseWithResolvers<void> | undefined;
  /** What goes out together with the rest of this turn of the event loop. */
  #gathered = "";
  #beatListener: () => void = () => {};
  #cancelBeat: () => void = () => {};

  constructor(response: ServerResponse, clock: Clock, limits: StreamLimits) {
    this.#response = response;
    this.#clock = clock;
    this.#limits = limits;
    this.#taken = clock.now().getTime();
    this.closed = this.#end.signal;
    if (isOver(response)) {
      this.#over();
      return;
    }
    response.once("close", () => this.#over());
    response.on("drain", () => this.#resume());
    response.on("error", () => response.destroy());
    response.writeHead(200, { "content-type": "text/event-stream", "x-accel-buffering": "no" });
    response.flushHeaders();
    this.#beat();
  }

  /** Sends some text; settles when there is room for more. Says whether the stream goes on. */
  async send(text: string): Promise<boolean> {
    if (this.closed.aborted) return false;
    this.#flush();
    const room = this.#write(text);
    if (room || this.#response.writableLength <= this.#limits.maxBufferedBytes) return true;
    await this.#room();
    return !this.closed.aborted;
  }

  /** Sends some text, together with what else comes in the same turn of the event loop. A promise says that there is no room for more. */
  push(text: string): undefined | Promise<void> {
    if (this.closed.aborted) return undefined;
    if (this.#gathered === "") queueMicrotask(() => this.#flush());
    this.#gathered += text;
    if (this.#response.writableLength + this.#gathered.length <= this.#limits.maxBufferedBytes)
      return undefined;
    this.#flush();
    return this.#response.writableNeedDrain ? this.#room() : undefined;
  }

  /** Is told now and then, so that whoever writes can see whether it still should. */
  onBeat(listener: () => void): void {
    this.#beatListener = listener;
  }

  /** Ends the stream; what was sent still arrives, if it is read. */
  end(): void {
    if (this.closed.aborted) return;
    this.#flush();
    this.#over();
    this.#response.end();
    const cancel = this.#clock.after(this.#limits.stallMs, () => this.#response.destroy());
    this.#response.once("close", cancel);
  }

  /** Settles when the reader has taken what waits for it, or the stream is over. */
  #room(): Promise<void> {
    this.#waiting ??= Promise.withResolvers();
    return this.#waiting.promise;
  }

  #resume(): void {
    this.#waiting?.resolve();
    this.#waiting = undefined;
  }

  #flush(): void {
    const text = this.#gathered;
    if (text === "") return;
    this.#gathered = "";
    if (!this.closed.aborted) this.#write(text);
  }

  #write(text: string): boolean {
    return this.#response.write(text, () => {
      this.#taken = this.#clock.now().getTime();
    });
  }

  /**
   * Says now and then that the stream lives, and drops a reader that has taken nothing for too long. It is looked at
   * twice, because it may be this process that was held up.
   */
  #beat(before?: number): void {
    const { keepAliveMs, stallMs } = this.#limits;
    this.#cancelBeat = this.#clock.after(Math.min(keepAliveMs, stallMs), () => {
      const waits = this.#response.writableLength > 0;
      const waited = this.#clock.now().getTime() - this.#taken;
      if (waits && waited >= stallMs && before === this.#taken) {
        this.#response.destroy();
        return;
      }
      if (!waits && waited >= keepAliveMs) this.#write(ALIVE);
      this.#beatListener();
      this.#beat(waits ? this.#taken : undefined);
    });
  }

  #over(): void {
    this.#cancelBeat();
    this.#end.abort();
    this.#resume();
  }
}

/** Whether an answer is over, because it was taken or because whoever waited for it has gone. */
export function isOver(response: ServerResponse): boolean {
  if (response.closed) return true;
  // An answer over HTTP/2 does not tell; the stream below it does.
  return "stream" in response && response.stream instanceof Duplex && response.stream.closed;
}
