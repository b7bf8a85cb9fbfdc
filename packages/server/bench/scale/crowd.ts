import type { IncomingMessage } from "node:http";
import type { ServerProcess } from "../../system/fixtures/server-process/server-process.ts";
import { Arrivals, UpdateCounter } from "../acp-http/arrivals.ts";
import { RpcLine } from "../acp-http/rpc-line.ts";

type Named = Readonly<Record<string, string>>;

/** A session, and the connection that drives it. */
export interface DrivenSession {
  readonly id: string;
  readonly driver: Named;
}

/** A reader of a session. */
export interface Reader {
  readonly stream: IncomingMessage;
  readonly session: DrivenSession;
}

/** Many sessions on few agents, and many who read them, all on one server. */
export class Crowd {
  /** The updates of all sessions, once per reader. */
  readonly heard = new Arrivals();
  readonly sessions: DrivenSession[] = [];
  readonly readers: Reader[] = [];
  readonly #line: RpcLine;
  readonly #drivers: { readonly agent: string; readonly named: Named }[] = [];

  constructor(server: ServerProcess) {
    this.#line = new RpcLine(server);
  }

  /** Starts agents, each with one connection that drives its sessions and hears all of them. */
  async start(agents: readonly string[]): Promise<void> {
    for (const agent of agents) {
      const named = await this.#line.hello(agent);
      await this.#follow(named);
      this.#drivers.push({ agent, named });
    }
  }

  /** Begins a session with the next agent; it has answered once when this settles. */
  async begin(): Promise<DrivenSession> {
    const driver = this.#drivers[this.sessions.length % this.#drivers.length];
    if (!driver) throw new Error("no agent runs");
    const id = await this.#line.begin(driver.named, driver.agent);
    const session = { id, driver: driver.named };
    await this.#line.prompt(session.driver, id, "say hello");
    this.sessions.push(session);
    return session;
  }

  /** Adds a reader of a session. */
  async read(session: DrivenSession): Promise<Reader> {
    const named = await this.#line.hello(this.#drivers[0]?.agent);
    await this.#line.ask(named, "session/resume", { sessionId: session.id });
    const reader = { stream: await this.#follow(named), session };
    this.readers.push(reader);
    return reader;
  }

  /** Prompts a session, and does not wait for the turn to end. */
  async prompt({ id, driver }: DrivenSession, text: string): Promise<void> {
    const params = { sessionId: id, prompt: [{ type: "text", text }] };
    const message = { jsonrpc: "2.0", id: `${id}-${text}`, method: "session/prompt", params };
    await this.#line.line.post("/v1/rpc", message, { ...driver, prefer: "respond-async" });
  }

  /** Ends the turn of a session. */
  async cancel({ id, driver }: DrivenSession): Promise<void> {
    const message = { jsonrpc: "2.0", method: "session/cancel", params: { sessionId: id } };
    await this.#line.line.post("/v1/rpc", message, driver);
  }

  close(): void {
    this.#line.close();
  }

  #follow(named: Named): Promise<IncomingMessage> {
    const counter = new UpdateCounter(this.heard);
    return this.#line.stream(named, (piece) => counter.take(piece));
  }
}
