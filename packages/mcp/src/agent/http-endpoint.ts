import { randomBytes } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { readRequestBody } from "@reins/kit";
import type { ServerContext } from "../gate.ts";
import {
  failure,
  isModern,
  isModernRevision,
  isObject,
  kindOf,
  type Message,
  RPC,
  readMessages,
  revisionOf,
} from "../message.ts";
import type { AgentLink } from "../relay/agent-request.ts";
import type { Conversation } from "../relay/conversation.ts";
import { Exchange, HttpAgent } from "./http-agent.ts";
import { accepts, headerOf, refuse, sendJson } from "./http-listener.ts";

/** What an {@link HttpEndpoint} is made of. */
interface EndpointParts extends Pick<ServerContext, "limits" | "clock" | "faults"> {
  converse(agent: AgentLink): Conversation;
}

interface Session {
  readonly id: string | undefined;
  readonly agent: HttpAgent;
  readonly conversation: Conversation;
}

/** One governed server as agents see it over Streamable HTTP: with sessions, and since 2026 without. */
export class HttpEndpoint {
  readonly #parts: EndpointParts;
  readonly #sessions = new Map<string, Session>();
  /** Serves requests without a session. */
  #sessionless: Session | undefined;
  #cancelTimer: (() => void) | undefined;
  #isClosed = false;

  constructor(parts: EndpointParts) {
    this.#parts = parts;
  }

  /** Handles an authorized request. Never rejects. */
  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      await this.#handle(request, response);
    } catch (error) {
      this.#parts.faults.note("undelivered", "a request of the agent broke off", error);
      response.destroy();
    }
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.#isClosed) return refuse(response, 404, "this MCP server is closed");
    switch (request.method) {
      case "POST":
        return this.#post(request, response);
      case "GET":
        return this.#get(request, response);
      case "DELETE":
        return this.#delete(request, response);
      default:
        return refuse(response, 405, "only POST, GET and DELETE are known here", {
          allow: "POST, GET, DELETE",
        });
    }
  }

  /** Ends all sessions. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancelTimer?.();
    const all = [...this.#sessions.values(), ...(this.#sessionless ? [this.#sessionless] : [])];
    this.#sessions.clear();
    await Promise.all(all.map((session) => this.#end(session)));
  }

  async #post(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { limits } = this.#parts;
    if (!/^application\/json\s*(;|$)/i.test(request.headers["content-type"] ?? "")) {
      return refuse(response, 415, "expected content-type: application/json");
    }
    const read = await readRequestBody(request, limits.messageBytes, this.#parts.clock);
    if ("fault" in read) {
      return refuse(response, 413, `a message has at most ${limits.messageBytes} bytes`, {
        connection: "close",
      });
    }
    const body = read.bytes.toString();
    const messages = readMessages(body);
    if (!messages) return refuse(response, 400, "the body is no JSON");
    const mismatched = mismatchedIn(request, messages);
    if (mismatched) return sendJson(response, 400, JSON.stringify(mismatched));
    const session = this.#sessionFor(request, messages);
    if ("fault" in session) return refuse(response, session.status, session.fault);
    this.#receive(messages, body.trimStart().startsWith("["), session, request, response);
  }

  #receive(
    messages: readonly unknown[],
    isBatch: boolean,
    session: Session,
    request: IncomingMessage,
    response: ServerResponse,
  ): void {
    const { limits, clock } = this.#parts;
    const isAnswered = messages.some((message) => !isObject(message) || kindOf(message) === "request");
    if (session.id !== undefined) response.setHeader("mcp-session-id", session.id);
    const mayStream = isAnswered && accepts(request, "text/event-stream");
    const hasStatus = session.id === undefined;
    const exchange = new Exchange(response, { mayStream, isBatch, hasStatus, limits, clock });
    if (isAnswered) session.agent.began(exchange, response);
    // All are expected before any is answered, or the first answer would end the exchange.
    const replies = messages.map((message) => ({ message, reply: exchange.expect() }));
    const requests = replies.map(({ message, reply }) => session.conversation.receive(message, reply));
    response.once("close", () => {
      this.#watchIdle();
      // Without a session, hanging up is how a request is cancelled.
      if (session.id === undefined) for (const one of requests) one?.cancel();
    });
  }

  #sessionFor(request: IncomingMessage, messages: readonly unknown[]): Session | Fault {
    const id = headerOf(request, "mcp-session-id");
    if (id !== undefined) return this.#sessions.get(id) ?? { status: 404, fault: "there is no such session" };
    const all = messages.filter(isObject);
    if (
      all.some((message) => isModern(message)) ||
      isModernRevision(headerOf(request, "mcp-protocol-version"))
    ) {
      return this.#withoutSession();
    }
    if (all.some((message: Message) => message.method === "initialize")) return this.#newSession();
    return { status: 400, fault: "a request without a session has to be initialize" };
  }

  #newSession(): Session | Fault {
    const { limits, clock } = this.#parts;
    if (this.#sessions.size >= limits.connections && !this.#endIdle()) {
      return { status: 503, fault: `there are ${limits.connections} sessions already` };
    }
    const id = randomBytes(24).toString("base64url");
    const agent = new HttpAgent(limits, clock, true);
    const session = { id, agent, conversation: this.#parts.converse(agent) };
    this.#sessions.set(id, session);
    return session;
  }

  #withoutSession(): Session {
    const { limits, clock, converse } = this.#parts;
    if (!this.#sessionless) {
      const agent = new HttpAgent(limits, clock, false);
      this.#sessionless = { id: undefined, agent, conversation: converse(agent) };
    }
    this.#cancelTimer?.();
    return this.#sessionless;
  }

  /** Ends the server of requests without a session after an idle timeout. */
  #watchIdle(): void {
    const session = this.#sessionless;
    if (!session || session.agent.isThere) return;
    this.#cancelTimer?.();
    this.#cancelTimer = this.#parts.clock.after(this.#parts.limits.idleMs, () => {
      this.#sessionless = undefined;
      void this.#end(session);
    });
  }

  /** Ends the oldest idle session to make room for a new one: agents rarely end theirs. */
  #endIdle(): boolean {
    for (const [id, session] of this.#sessions) {
      if (session.agent.isThere || session.conversation.underWay > 0) continue;
      this.#sessions.delete(id);
      void this.#end(session);
      return true;
    }
    return false;
  }

  async #end(session: Session): Promise<void> {
    session.agent.hangUp();
    await session.conversation.end();
  }

  #get(request: IncomingMessage, response: ServerResponse): void {
    const session = this.#named(request, response);
    if (!session) return;
    if (accepts(request, "text/event-stream")) session.agent.listen(response);
    else refuse(response, 406, "a stream of events is all there is");
  }

  async #delete(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const session = this.#named(request, response);
    if (!session?.id) return;
    this.#sessions.delete(session.id);
    response.writeHead(200).end();
    await this.#end(session);
  }

  #named(request: IncomingMessage, response: ServerResponse): Session | undefined {
    const id = headerOf(request, "mcp-session-id");
    const session = id === undefined ? undefined : this.#sessions.get(id);
    if (id === undefined) refuse(response, 405, "without a session there is only POST", { allow: "POST" });
    else if (!session) refuse(response, 404, "there is no such session");
    return session;
  }
}

/** The answer to a request whose header names another revision than its body, if it does. */
function mismatchedIn(request: IncomingMessage, messages: readonly unknown[]): Message | undefined {
  const header = headerOf(request, "mcp-protocol-version");
  if (header === undefined) return undefined;
  const found = messages.filter(isObject).find((message) => (revisionOf(message) ?? header) !== header);
  const text = "the header MCP-Protocol-Version does not name the revision of the request";
  return found && { ...failure(RPC.headerMismatch, text), id: found.id ?? null };
}

interface Fault {
  readonly status: number;
  readonly fault: string;
}
