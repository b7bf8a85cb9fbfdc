import type { Random } from "../../../../scripts/torture/random.ts";
import { messagesIn, type ToldMessage } from "./event-reader.ts";

/** Where a follower finds its server. */
export interface Router {
  readonly address: string;
  readonly token: string;
}

const CONNECTION = "x-acp-connection-id";
/** A stream of a server that was killed may be taken for open a little longer. */
const RETRY_MS = 20;

/** A client that reconnects after every kill of its server and records everything it received. */
export class Follower {
  /** Everything with a place in the log, in the order in which it came. */
  readonly seen: (ToldMessage & { readonly order: number })[] = [];
  /** Everything without one. */
  readonly aside: ToldMessage[] = [];
  /** The answers that were refused for another reason than that they came late. */
  readonly refused: string[] = [];
  readonly #random: Random;
  #place: Router | undefined;
  #connection: string | undefined;
  #requests = 0;
  /** The questions that it has before it: neither was its answer taken, nor were they taken back. */
  readonly #open = new Set<unknown>();
  #watchers = new Set<() => void>();

  constructor(random: Random) {
    this.#random = random;
  }

  /** The id of its connection. */
  get connection(): string {
    if (this.#connection === undefined) throw new Error("it is not connected");
    return this.#connection;
  }

  /** Whether nothing is left to answer. */
  get isDone(): boolean {
    return this.#open.size === 0;
  }

  /** Says hello for the first time. */
  async introduce(place: Router): Promise<void> {
    this.#place = place;
    const _meta = { "sandboxagent.dev": { agent: "stub" } };
    const response = await this.#post(this.message("initialize", { protocolVersion: 1, _meta }));
    if (response.status !== 200) throw new Error(await response.text());
    await response.text();
    this.#connection = response.headers.get(CONNECTION) ?? undefined;
  }

  /** Comes back, and takes in what it missed and what comes; the returned promise settles when the server has gone. */
  async follow(place: Router): Promise<{ readonly gone: Promise<void> }> {
    this.#place = place;
    const last = this.seen.at(-1)?.order;
    const headers = {
      authorization: `Bearer ${place.token}`,
      accept: "text/event-stream",
      [CONNECTION]: this.connection,
      ...(last !== undefined && { "last-event-id": String(last) }),
    };
    const response = await fetch(`${place.address}/v1/rpc`, { headers });
    if (response.status === 409) {
      await response.text();
      await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      return this.follow(place);
    }
    if (response.status !== 200 || !response.body)
      throw new Error(`an old connection got ${response.status}: ${await response.text()}`);
    return { gone: this.#take(response.body) };
  }

  /** A request with a new id. */
  message(method: string, params: object): { readonly id: string; readonly text: string } {
    this.#requests += 1;
    const id = `${this.#connection ?? "first"}-${this.#requests}`;
    return { id, text: JSON.stringify({ jsonrpc: "2.0", id, method, params }) };
  }

  /** Asks; rejects when the server is killed before it has answered. */
  async ask({ text }: { readonly text: string }, later = false): Promise<Record<string, unknown>> {
    const response = await this.#post({ text }, later ? { prefer: "respond-async" } : {});
    const answer = await response.text();
    if (response.status >= 300) throw new Error(`${response.status} ${answer}`);
    return answer === "" ? {} : JSON.parse(answer);
  }

  /** Settles when enough messages arrived, or after a timeout; returns whether they did. */
  async until(isEnough: () => boolean, milliseconds: number): Promise<boolean> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const look = () => {
      if (isEnough()) resolve();
    };
    const timer = setTimeout(resolve, milliseconds);
    this.#watchers.add(look);
    look();
    await promise;
    clearTimeout(timer);
    this.#watchers.delete(look);
    return isEnough();
  }

  async #take(body: ReadableStream<Uint8Array>): Promise<void> {
    try {
      for await (const told of messagesIn(body)) {
        const { order, message } = told;
        if (order === undefined) this.aside.push(told);
        else this.seen.push({ order, message });
        if (message.id !== undefined && message.method === "session/request_permission")
          void this.#answer(message);
        if (message.method === "$/cancel_request") this.#open.delete(Object(message.params).requestId);
        this.#look();
      }
    } catch {
      // Killed in the middle of it, which is what this is about.
    }
  }

  /** Answers a question with one of its options, after a random delay. */
  async #answer({ id, params }: Readonly<Record<string, unknown>>): Promise<void> {
    this.#open.add(id);
    const kind = this.#random.chance(0.7) ? "allow_once" : "reject_once";
    const delay = this.#random.int(30);
    const { optionId } = [...Object(params).options].find((option) => option.kind === kind);
    await new Promise((resolve) => setTimeout(resolve, delay));
    const text = JSON.stringify({
      jsonrpc: "2.0",
      id,
      result: { outcome: { outcome: "selected", optionId } },
    });
    try {
      const response = await this.#post({ text });
      await response.text();
      // One that came too late is taken back on the stream.
      if (response.ok) this.#open.delete(id);
      else if (response.status !== 409) this.refused.push(`${response.status} for ${optionId}`);
      this.#look();
    } catch {
      // The server was killed before it had the answer.
    }
  }

  #look(): void {
    for (const look of [...this.#watchers]) look();
  }

  #post({ text }: { readonly text: string }, headers: Record<string, string> = {}): Promise<Response> {
    const place = this.#place;
    if (!place) throw new Error("it has no server");
    return fetch(`${place.address}/v1/rpc`, {
      method: "POST",
      body: text,
      headers: {
        authorization: `Bearer ${place.token}`,
        "content-type": "application/json",
        ...(this.#connection !== undefined && { [CONNECTION]: this.#connection }),
        ...headers,
      },
    });
  }
}
