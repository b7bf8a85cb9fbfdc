import { once } from "node:events";
import { onTestFinished } from "vitest";
import { WebSocket } from "ws";

/** What of a frame tests look at. */
export interface Frame {
  readonly id?: unknown;
  readonly result?: Readonly<Record<string, unknown>>;
  readonly error?: { readonly code: string; readonly message: string };
  readonly event?: Readonly<Record<string, unknown>> & { readonly type: string; readonly seq: number };
}

/** A client of `/ws`, as OpenClaw is one. */
export class HaakClient {
  readonly #socket: WebSocket;
  #last = 0;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
  }

  /** Connects; rejects with the status when it is refused. */
  static async connect(url: string): Promise<HaakClient> {
    const socket = new WebSocket(url);
    const refused = once(socket, "unexpected-response").then(([, { statusCode }]) => {
      throw new Error(`refused: ${statusCode}`);
    });
    await Promise.race([once(socket, "open"), refused]);
    onTestFinished(() => socket.terminate());
    return new HaakClient(socket);
  }

  /** Asks, and gives every frame that comes for it. The last is the answer. */
  async ask(method: string, params: object): Promise<readonly Frame[]> {
    this.#last += 1;
    const id = this.#last;
    const frames: Frame[] = [];
    const answered = Promise.withResolvers<void>();
    const take = (data: unknown) => {
      const frame: Frame = JSON.parse(String(data));
      if (frame.id !== id) return;
      frames.push(frame);
      if (!frame.event) answered.resolve();
    };
    this.#socket.on("message", take);
    this.#socket.send(JSON.stringify({ id, method, params }));
    await Promise.race([answered.promise, once(this.#socket, "close")]);
    this.#socket.off("message", take);
    return frames;
  }

  /** Begins a session, and gives what is said of it. */
  async init(params: object): Promise<Readonly<Record<string, unknown>>> {
    const [frame] = await this.ask("session.init", params);
    if (!frame?.result) throw new Error(`not begun: ${JSON.stringify(frame)}`);
    return frame.result;
  }

  /** Says something, and gives what is said back, and the events. */
  async turn(session_key: unknown, message: string) {
    const frames = await this.ask("turn.run", { session_key, message });
    const events = frames.flatMap(({ event }) => event ?? []);
    const said = events.filter(({ type }) => type === "text_delta").map(({ text }) => String(text));
    return { text: said.join(""), events, answer: frames.at(-1) };
  }
}
