import { type Clock, errorMessage, exponentialBackoff, settlesWithin, sleep } from "@reins/kit";
import type { ServerContext } from "../gate.ts";
import type { McpLimits } from "../limits.ts";
import { type Message, objectIn } from "../message.ts";
import {
  type Loss,
  type OpenLink,
  type Sending,
  type ServerAnswer,
  ServerRun,
  type UnsolicitedEvents,
} from "./server-run.ts";

/** A request that is on its way. */
export interface Asked {
  /** The id by which the server knows it. */
  readonly id: number;
  /** Always settles, and never rejects. */
  readonly answer: Promise<ServerAnswer>;
  /** Cancels it on the server, which may still answer. */
  cancel(notification: Message): void;
}

/** What an {@link Upstream} is made of. */
export interface UpstreamParts extends Pick<ServerContext, "name" | "hide" | "limits" | "clock" | "faults"> {
  readonly open: OpenLink;
}

/** Events of an {@link Upstream}. */
export interface UpstreamEvents extends UnsolicitedEvents {
  /** The server ended, and with it all that it asked. */
  over(): void;
  /** It was started again, and may have other tools than before. */
  restarted(): void;
}

/** A request under our id. */
type Numbered = Message & { readonly id: number };

type Opened = { readonly run: ServerRun } | { readonly loss: Loss };

/** The server's side of a conversation: started when it is first asked, and again after it ended. */
export class Upstream {
  readonly #parts: UpstreamParts;
  readonly #events: UpstreamEvents;
  readonly #backoff: Backoff;
  readonly #handshake = new Handshake();
  readonly #end = new AbortController();
  readonly #runs = new Set<ServerRun>();
  #generation = 0;
  #opening: Promise<Opened> | undefined;
  #lastId = 0;

  constructor(parts: UpstreamParts, events: UpstreamEvents) {
    this.#parts = parts;
    this.#events = events;
    this.#backoff = new Backoff(parts.limits, parts.clock);
  }

  /** Asks the server, under an id of ours. */
  ask(message: Message, sending?: Sending): Asked {
    this.#lastId += 1;
    const id = this.#lastId;
    const unwanted = new AbortController();
    const cancel = (notification: Message) => {
      unwanted.abort();
      void this.#running()?.then((run) => run?.cancel(id, notification));
    };
    return { id, answer: this.#answer({ ...message, id }, sending, unwanted.signal), cancel };
  }

  /** Sends a notification to the server, if it runs; it is not started for that. */
  notify(message: Message): void {
    void this.#running()?.then((run) => run?.send(message));
  }

  /** Ends the server. What is under way is lost, and so is what is asked later. */
  async close(): Promise<void> {
    this.#end.abort();
    const closeAll = () => Promise.all([...this.#runs].map((run) => run.close()));
    await closeAll();
    await this.#opening;
    await closeAll();
  }

  async #answer(
    message: Numbered,
    sending: Sending | undefined,
    unwanted: AbortSignal,
  ): Promise<ServerAnswer> {
    const isIntroduction = message.method === "initialize";
    for (let attempt = 1; ; attempt += 1) {
      const opened = await this.#ready(isIntroduction);
      if ("loss" in opened) return opened;
      if (unwanted.aborted)
        return { loss: { text: "it was cancelled before it was sent", delivered: false } };
      const answer = await opened.run.ask(message, sending);
      if ("loss" in answer && answer.loss.forgotten && attempt === 1) continue;
      if (isIntroduction && "response" in answer) this.#handshake.note(message, answer.response);
      return answer;
    }
  }

  #running(): Promise<ServerRun | undefined> | undefined {
    return this.#opening?.then((opened) => ("run" in opened ? opened.run : undefined));
  }

  /** The server as it runs, started if need be. All who ask meanwhile wait in the order in which they came. */
  #ready(isIntroduction: boolean): Promise<Opened> {
    if (this.#opening) return this.#opening;
    this.#generation += 1;
    const generation = this.#generation;
    this.#opening = this.#open(isIntroduction, generation).then((opened) => {
      if ("loss" in opened) this.#forget(generation);
      return opened;
    });
    return this.#opening;
  }

  #forget(generation: number): void {
    if (this.#generation === generation) this.#opening = undefined;
  }

  async #open(isIntroduction: boolean, generation: number): Promise<Opened> {
    const { name, open, clock, hide, faults } = this.#parts;
    await sleep(this.#backoff.wait, clock, this.#end.signal);
    if (this.#end.signal.aborted) return lost(`the MCP server ${name} is closed`);
    this.#backoff.started();
    const run = this.#newRun(generation);
    try {
      await run.begin(open, this.#end.signal);
    } catch (error) {
      this.#runs.delete(run);
      this.#backoff.failed();
      const text = hide(`the MCP server ${name} could not be started: ${errorMessage(error)}`);
      faults.note("server_lost", text, error);
      return lost(text);
    }
    const fault = this.#handshake.isDone && !isIntroduction ? await this.#introduce(run) : undefined;
    if (fault === undefined) return { run };
    await run.close();
    return lost(`the MCP server ${name} ${fault}`);
  }

  #newRun(generation: number): ServerRun {
    const { request, notification } = this.#events;
    const over = () => {
      this.#forget(generation);
      if (!this.#end.signal.aborted) this.#backoff.failed();
      this.#events.over();
    };
    const run = new ServerRun(this.#parts, {
      request,
      notification,
      over,
      gone: () => this.#runs.delete(run),
    });
    this.#runs.add(run);
    return run;
  }

  /** Introduces the agent to a server that was started again. Gives a reason why that did not work. */
  async #introduce(run: ServerRun): Promise<string | undefined> {
    const { limits, clock } = this.#parts;
    this.#lastId += 1;
    const answer = run.ask({ ...this.#handshake.request(), id: this.#lastId }, undefined);
    if (!(await settlesWithin(answer, limits.startMs, clock)))
      return "did not answer when it was started again";
    const answered = await answer;
    if ("loss" in answered) return "ended when it was started again";
    const fault = this.#handshake.fault(answered.response);
    if (fault !== undefined) return fault;
    run.send({ jsonrpc: "2.0", method: "notifications/initialized" });
    this.#events.restarted();
    return undefined;
  }
}

function lost(text: string): Opened {
  return { loss: { text, delivered: false } };
}

/** The agent's `initialize`, repeated to a server that is started again. */
class Handshake {
  #said: Message | undefined;
  #version: unknown;

  /** Whether there is anything to repeat. Since 2026 there is not: each request brings its own introduction. */
  get isDone(): boolean {
    return this.#said !== undefined;
  }

  /** Takes the agent's `initialize` and what came of it. */
  note(request: Message, response: Message): void {
    const result = objectIn(response, "result");
    if (!result) return;
    this.#said = request;
    this.#version = result.protocolVersion;
  }

  /** The introduction once more. */
  request(): Message {
    return { ...this.#said };
  }

  /** Why a server that came back cannot take the place of the one before, if so. */
  fault(response: Message): string | undefined {
    const version = objectIn(response, "result")?.protocolVersion;
    if (version === this.#version) return undefined;
    return version === undefined
      ? "did not take the agent's introduction"
      : "came back with another protocol version";
  }
}

/** How long a server that keeps ending has to wait before it is started again. */
export class Backoff {
  readonly #limits: McpLimits;
  readonly #clock: Clock;
  #failures = 0;
  #startedAt = 0;
  #notBefore = 0;

  constructor(limits: McpLimits, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Milliseconds until it may be started. */
  get wait(): number {
    return this.#notBefore - this.#now();
  }

  /** It has been started. */
  started(): void {
    this.#startedAt = this.#now();
  }

  /** It ended, or could not be started. */
  failed(): void {
    const { firstBackoffMs, mostBackoffMs } = this.#limits;
    if (this.#startedAt > 0 && this.#now() - this.#startedAt >= mostBackoffMs) this.#failures = 0;
    this.#notBefore =
      this.#now() +
      exponentialBackoff({ firstMs: firstBackoffMs, mostMs: mostBackoffMs }, this.#failures + 1);
    this.#failures += 1;
  }

  #now(): number {
    return this.#clock.now().getTime();
  }
}
