import { setTimeout as delay } from "node:timers/promises";
import { type AhpEvent, type BlockingEventType, decode, HandshakeResponse } from "@reins/ahp";
import type { Credentials, Outgoing, Reply, Target } from "./channels/channel.ts";
import { Unmet } from "./check.ts";
import { type AnyChannel, Connections } from "./connections.ts";
import { type HarnessResponse, readResponse } from "./expect.ts";
import { cut, Transcript, textOf } from "./report.ts";
import { event, HANDSHAKE, notificationText, requestText } from "./samples.ts";

const DEFAULT_WAIT_MS = 5000;
const MAX_DECISION_MS = 60_000;
/** How many requests a check has under way at once, where it makes many. */
const AT_ONCE = 8;

/** How the kit speaks to a harness. */
export interface ProbeOptions {
  readonly credentials: Credentials | undefined;
  readonly waitMs: number | undefined;
  /** How long silence must last, after a later request was answered, to count as silence. */
  readonly quietMs: number;
}

/** The result of a message that may get no answer. */
export interface Offered {
  readonly sent: string;
  readonly answers: readonly HarnessResponse[];
  /** Only over HTTP. */
  readonly reply: Reply | undefined;
  /** How the harness ended the connection, if it did. */
  readonly ended: string | undefined;
  /** Whether it answers an ordinary request afterwards, on the same connection. */
  readonly alive: boolean;
}

/** The client of the checks. It makes the handshake on each connection, and records every message. */
export class Probe {
  readonly transcript = new Transcript();
  readonly connections: Connections;
  /** The first handshake of the harness that could be read. */
  harness: HandshakeResponse | undefined;
  readonly #options: ProbeOptions;
  #ids = 0;

  constructor(target: Target, options: ProbeOptions) {
    this.connections = new Connections(target, options.credentials);
    this.#options = options;
  }

  /** How long any answer may take. */
  get waitMs(): number {
    return this.#options.waitMs ?? DEFAULT_WAIT_MS;
  }

  /** How long a decision may take: by default as long as the harness's own timeout. */
  get decisionMs(): number {
    const promised = (this.harness?.config?.timeout_ms ?? 0) + 1000;
    return this.#options.waitMs ?? Math.max(DEFAULT_WAIT_MS, Math.min(promised, MAX_DECISION_MS));
  }

  /** Whether answers come back on the request itself. */
  get overHttp(): boolean {
    return this.connections.target.transport === "http";
  }

  /** An id no other message has. */
  newId(): string {
    this.#ids += 1;
    return `conformance-${this.#ids}`;
  }

  /** The connection that checks share, the handshake made. */
  channel(): Promise<AnyChannel> {
    return this.connections.shared((channel) => this.transcript.aside(() => this.greet(channel)));
  }

  /** A connection for one check alone, after the handshake. */
  async fresh(): Promise<AnyChannel> {
    const channel = await this.connections.own();
    await this.transcript.aside(() => this.greet(channel));
    return channel;
  }

  /** Checks that other clients are still served. A harness on stdio has no other client. */
  async expectOthersServed(): Promise<void> {
    if (this.connections.target.transport === "stdio") return;
    await this.greet(await this.connections.own());
    await this.greet(await this.channel());
  }

  /** Makes the handshake on a connection and returns the answer. */
  async greet(channel: AnyChannel): Promise<HarnessResponse> {
    const id = this.newId();
    const answer = await this.askOn(channel, requestText(id, "ahp/handshake", HANDSHAKE), id);
    const harness = readHarness(answer);
    this.harness ??= harness;
    if (channel.transport === "http") channel.sessionToken = harness?.session_token;
    return answer;
  }

  /** Sends a request and returns its response. Throws {@link Unmet} when none comes. */
  async call(method: string, params: unknown, waitMs = this.decisionMs): Promise<HarnessResponse> {
    const id = this.newId();
    return this.ask(requestText(id, method, params), id, waitMs);
  }

  /** Sends many requests, some at once, and returns the responses in order. */
  async callEach(method: string, params: readonly unknown[], atOnce = AT_ONCE): Promise<HarnessResponse[]> {
    const answers: HarnessResponse[] = [];
    for (let start = 0; start < params.length; start += atOnce) {
      const some = params.slice(start, start + atOnce).map((each) => this.call(method, each));
      await Promise.allSettled(some);
      answers.push(...(await Promise.all(some)));
    }
    return answers;
  }

  /** Sends a blocking event. */
  decide(type: BlockingEventType, changes: Partial<AhpEvent> = {}): Promise<HarnessResponse> {
    return this.call("ahp/event", event(type, changes));
  }

  /** Sends any text that has an id and returns the response under it. */
  async ask(message: Outgoing, id: string | number, waitMs = this.waitMs): Promise<HarnessResponse> {
    return this.askOn(await this.channel(), message, id, waitMs);
  }

  /** Like {@link ask}, on a connection of the check's own. */
  async askOn(
    channel: AnyChannel,
    message: Outgoing,
    id: string | number,
    waitMs = this.waitMs,
  ): Promise<HarnessResponse> {
    this.connections.sweep(channel);
    this.transcript.sent(message);
    const reply = await channel.exchange(message, { id, waitMs });
    this.transcript.received(message, reply);
    return this.#answerIn(channel, message, id, reply, waitMs);
  }

  /** Sends a notification. */
  notify(params: unknown, method = "ahp/event"): Promise<Offered> {
    return this.offer(notificationText(method, params));
  }

  /** Sends any text or bytes and reports what follows. */
  async offer(message: Outgoing): Promise<Offered> {
    return this.offerOn(await this.channel(), message);
  }

  /** Like {@link offer}, on a connection of the check's own. `send` replaces the way it is sent. */
  async offerOn(channel: AnyChannel, message: Outgoing, send?: () => Promise<void>): Promise<Offered> {
    this.connections.sweep(channel);
    this.transcript.sent(message);
    const sent = cut(textOf(message));
    if (channel.transport === "http") {
      const reply = await channel.exchange(message, { waitMs: this.decisionMs });
      this.transcript.received(message, reply);
      const answer = readResponse(sent, reply.text ?? "", reply.status);
      const alive = await this.#answersStill(channel);
      return { sent, answers: answer ? [answer] : [], reply, ended: reply.ended, alive };
    }
    await Promise.race([send?.() ?? channel.send(message), delay(this.waitMs, undefined, { ref: false })]);
    const alive = await this.#answersStill(channel);
    await delay(this.#options.quietMs);
    const answers = channel.unclaimed().flatMap((text) => {
      this.transcript.received(message, { text });
      return readResponse(sent, text) ?? [];
    });
    const { ended } = channel;
    if (ended !== undefined) this.transcript.received(message, { text: undefined, ended });
    return { sent, answers, reply: undefined, ended, alive };
  }

  /** A later request shows that the answer to a message would have come, and that the harness still works. */
  async #answersStill(channel: AnyChannel): Promise<boolean> {
    const id = this.newId();
    const text = requestText(id, "ahp/handshake", HANDSHAKE);
    const reply = await channel.exchange(text, { id, waitMs: this.waitMs });
    if (reply.text === undefined) this.connections.doubt();
    return reply.text !== undefined && (reply.status ?? 200) === 200;
  }

  #answerIn(
    channel: AnyChannel,
    message: Outgoing,
    id: string | number,
    { text, status, ended }: Reply,
    waitMs: number,
  ): HarnessResponse {
    const sent = cut(textOf(message));
    if (text === undefined) this.connections.doubt();
    const [instead] = text === undefined ? channel.unclaimed() : [];
    const shown = { sent, text: text ?? instead ?? "", status };
    if (instead !== undefined) throw new Unmet("what came was not under the id of the request", shown);
    if (text === undefined) throw new Unmet(ended ? `no answer: ${ended}` : `no answer within ${waitMs} ms`);
    const answer = readResponse(sent, text, status);
    const note = status === undefined ? "" : ` (HTTP status ${status})`;
    if (!answer) throw new Unmet(`the answer is no JSON-RPC response${note}`, shown);
    if (answer.message.id !== id) throw new Unmet("what came was not under the id of the request", shown);
    return answer;
  }
}

function readHarness({ result, floats }: HarnessResponse): HandshakeResponse | undefined {
  try {
    return decode(HandshakeResponse, result, floats);
  } catch {
    return undefined;
  }
}
