import { parseJson } from "@reins/kit";
import type { CallOptions, ClientTransport, SendRequest } from "../src/client/transport.ts";
import type { AhpEvent, EventType } from "../src/protocol/event.ts";
import type { PayloadFor, Payloads } from "../src/protocol/families.ts";
import type { HandshakeRequest, Method } from "../src/protocol/messages.ts";
import type { Peer } from "../src/server/handlers.ts";
import type { AhpServer } from "../src/server/server.ts";

/** A payload that each checked event type accepts. */
const PAYLOAD: { readonly [Type in keyof Payloads]: PayloadFor<Type> } = {
  idle: { idle_duration_ms: 5, idle_reason: "waiting" },
  context_perception: {
    session_id: "s",
    intent: "locate",
    target: { location: { path: "src", location_type: "folder" } },
    context: { workspace: "w" },
  },
  memory_recall: { session_id: "s", query: "q", memory_type: "m", max_results: 3, working_directory: "w" },
  planning: { session_id: "s", task_description: "t", available_strategies: ["none"] },
  reasoning: { session_id: "s", reasoning_type: "re_act", problem_statement: "p" },
  rate_limit: { session_id: "s", limit_type: "llm_token_limit", retry_after_ms: 10, current_usage: "all" },
  confirmation: { session_id: "s", confirmation_type: "user_confirm", message: "sure?" },
  intent_detection: { session_id: "s", prompt: "p", workspace: "w" },
  run_lifecycle: { run_id: "r", session_id: "s", status: "created", updated_at: "t" },
  task_list: { run_id: "r", session_id: "s", tasks: [], updated_at: "t" },
  verification: { run_id: "r", session_id: "s", status: "passed", updated_at: "t" },
};

/** An event with a payload that its type accepts. */
export function eventOf(type: EventType, rest: Partial<AhpEvent> = {}): AhpEvent {
  const payload = type in PAYLOAD ? PAYLOAD[type as keyof Payloads] : {};
  return { event_type: type, session_id: "s", agent_id: "a", timestamp: "t", depth: 0, payload, ...rest };
}

/** Params of a handshake. */
export function handshakeOf(rest: Partial<HandshakeRequest> = {}): HandshakeRequest {
  const agent_info = { framework: "f", version: "1", capabilities: [] };
  return { protocol_version: "2.4", agent_info, session_id: "s", agent_id: "a", ...rest };
}

/** The text of a request. */
export function request(method: Method, params: unknown, id: unknown = "1"): string {
  return JSON.stringify({ jsonrpc: "2.0", id, method, params });
}

/** The text of a notification. */
export function notification(event: AhpEvent): string {
  return JSON.stringify({ jsonrpc: "2.0", method: "ahp/event", params: event });
}

/** A response, looked into. */
export interface Reply {
  readonly jsonrpc: string;
  readonly id: string | number | null;
  readonly result?: unknown;
  readonly error?: {
    readonly code: number;
    readonly message: string;
    readonly data?: Readonly<Record<string, unknown>>;
  };
}

/** Sends a text; the reply, or `undefined` when there is none. */
export async function send(server: AhpServer, text: string, peer?: Peer): Promise<Reply | undefined> {
  const reply = await server.handleMessage(text, peer);
  return reply === undefined ? undefined : JSON.parse(reply);
}

/** Sends a request that must be answered. */
export async function ask(server: AhpServer, method: Method, params: unknown, peer?: Peer): Promise<Reply> {
  const reply = await send(server, request(method, params), peer);
  if (!reply) throw new Error(`${method} was not answered`);
  return reply;
}

/** What a scripted harness does with a request: the text of its response, or an error to fail with. */
export type Script = (request: {
  id: string;
  method: string;
  params: unknown;
}) => string | Error | Promise<string>;

/** A transport that answers from a script and keeps what was sent. */
export class ScriptedTransport implements ClientTransport {
  readonly sent: string[] = [];
  readonly options: CallOptions[] = [];
  sessionToken: string | undefined;
  closed = false;
  readonly #script: Script;

  constructor(script: Script) {
    this.#script = script;
  }

  readonly request: SendRequest = async (_, text, options) => {
    this.sent.push(text);
    this.options.push(options);
    const answer = await this.#script(JSON.parse(text));
    if (answer instanceof Error) throw answer;
    return parseJson(answer);
  };

  async notify(text: string): Promise<void> {
    this.sent.push(text);
  }

  onReconnect(): void {}

  useSession(token: string): void {
    this.sessionToken = token;
  }

  async close(): Promise<void> {
    this.closed = true;
  }
}
