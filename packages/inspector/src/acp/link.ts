import { type ClientConnection, client, RequestError, type Stream } from "@agentclientprotocol/sdk";
import { z } from "zod";
import type { HeardUpdate } from "./conversation/reduce.ts";
import { ASKING, type Question, questionOf, withdrawn } from "./question.ts";
import type { TurnState } from "./session-view.ts";

/** Who is told what comes over a link. */
export interface LinkEar {
  onUpdate(session: string, update: HeardUpdate["update"]): void;
  onQuestion(session: string, question: Question): void;
  onWithdrawn(session: string, id: string): void;
  /** Messages of a session that cannot be had any more. */
  onGap(session: string): void;
  onEnded(session: string): void;
  /** How the turns of a session stand: told when it is followed, and when others have one begun or ended. */
  onTurn(session: string, state: TurnState): void;
}

const Update = z.looseObject({
  method: z.literal("session/update"),
  params: z.looseObject({ sessionId: z.string(), update: z.looseObject({ sessionUpdate: z.string() }) }),
});
const Turn = z.looseObject({
  method: z.literal("_reins/session/turn"),
  params: z.looseObject({ sessionId: z.string(), state: z.enum(["running", "idle"]) }),
});
const About = z.looseObject({ sessionId: z.string() });
const GAP = "_reins/gap";
const ENDED = "_sandboxagent/session/ended";
const KNOWN = { name: "reins-inspector", title: "Reins inspector", version: "0.1.0" };

const HELLO = {
  protocolVersion: 1,
  clientInfo: KNOWN,
  clientCapabilities: {
    elicitation: { form: {}, url: {} },
    session: { notices: {}, compaction: {}, configOptions: {} },
  },
  _meta: { reins: { turns: true } },
};

/** One stream over which ACP is spoken. It does not outlive the stream. */
export class Link {
  readonly #connection: ClientConnection;
  #asked = 0;

  private constructor(stream: Stream, ear: LinkEar) {
    const app = client({ name: KNOWN.name });
    for (const method of ASKING)
      app.onRequest(method, readAbout, ({ params, signal }) => this.#ask(method, params, signal, ear));
    app.onNotification(GAP, readAbout, ({ params }) => ear.onGap(params.sessionId));
    app.onNotification(ENDED, readAbout, ({ params }) => ear.onEnded(params.sessionId));
    this.#connection = app.connect(stream);
  }

  /** Begins to speak over a stream, and says hello. */
  static async open(stream: Stream, ear: LinkEar): Promise<Link> {
    const link = new Link(tapped(stream, ear), ear);
    try {
      await link.request("initialize", HELLO);
      return link;
    } catch (error) {
      link.close();
      throw error;
    }
  }

  /** Aborts when the stream is gone. */
  get signal(): AbortSignal {
    return this.#connection.signal;
  }

  /** Asks; a signal takes the question back. */
  request(method: string, params: unknown, signal?: AbortSignal): Promise<unknown> {
    return this.#connection.agent.request<unknown, unknown>(
      method,
      params,
      signal && { cancellationSignal: signal },
    );
  }

  /** Tells. */
  notify(method: string, params: unknown): Promise<void> {
    return this.#connection.agent.notify<unknown>(method, params);
  }

  /** Hangs up. */
  close(): void {
    this.#connection.close();
  }

  /** Puts a question to the person; settles with the answer, or when it is taken back. */
  #ask(method: string, params: z.infer<typeof About>, signal: AbortSignal, ear: LinkEar): Promise<unknown> {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    this.#asked += 1;
    const id = `${this.#asked}`;
    const question = questionOf(method, params, id, resolve);
    if (!question) throw RequestError.invalidParams(undefined, "this page cannot put the question");
    signal.addEventListener("abort", () => resolve(withdrawn(method)), { once: true });
    ear.onQuestion(params.sessionId, question);
    return promise.finally(() => ear.onWithdrawn(params.sessionId, id));
  }
}

/**
 * A stream out of which updates are taken before the SDK sees them: its client drops what its own schema does not know,
 * and the page wants everything, in order.
 */
function tapped({ readable, writable }: Stream, ear: LinkEar): Stream {
  const tap = new TransformStream({
    transform(message, controller) {
      const read = Update.safeParse(message);
      if (read.success) {
        ear.onUpdate(read.data.params.sessionId, read.data.params.update);
        return;
      }
      const turn = Turn.safeParse(message);
      if (turn.success) ear.onTurn(turn.data.params.sessionId, turn.data.params.state);
      else controller.enqueue(message);
    },
  });
  return { readable: readable.pipeThrough(tap), writable };
}

function readAbout(params: unknown): z.infer<typeof About> {
  return About.parse(params);
}
