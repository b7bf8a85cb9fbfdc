import type { JsonObject } from "@reins/acp";
import type { Draft } from "@reins/ledger";
import type { Harness, UpdateRedactor, Workspace } from "@reins/supervisor";
import type { Clients, SessionPort } from "../control/ask-clients.ts";
import type { Descent } from "../control/scope.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import { type AcceptedChanges, transition } from "../sessions/session-state.ts";
import { putSession } from "../sessions/sessions.ts";
import { FilePermits } from "./file-access.ts";
import { ToolCalls } from "./tool-calls.ts";
import type { Turn } from "./turn.ts";
import type { UnpromptedTurn } from "./unprompted.ts";

/** A verdict of the gateway on a call of an MCP tool. */
export interface McpVerdict {
  /** What the agent may call the tool. */
  readonly names: readonly string[];
  readonly arguments: unknown;
  /** What clients see of it, once it is in the ledger. */
  readonly meta: Promise<JsonObject>;
}

/** A session with an agent, and what the governor knows of it. */
export class GovernedSession {
  /** The session with its owner. */
  readonly port: SessionPort;
  /** What the agent itself calls it. */
  agentSessionId: string;
  /** Where the agent's own tools work. */
  readonly workspace: Workspace;
  /** The same place for what the harness itself carries out or passes on. */
  readonly served: Workspace;
  readonly toolCalls = new ToolCalls();
  readonly permits = new FilePermits();
  /** The terminals that clients run for its agent, each with the client. */
  readonly terminals = new Map<string, string>();
  /** What has to end with it. */
  readonly closing: (() => Promise<void>)[] = [];
  /** The tools of its MCP servers, which the harness carries out: server and tool, as the agent names them together. */
  readonly mcpTools = new Set<string>();
  /** Verdicts on calls of MCP tools that no card of the agent was found for yet, and the cards that have one. */
  readonly mcpVerdicts: McpVerdict[] = [];
  readonly mcpCards = new Set<string>();
  /** Takes secrets out of its updates, also across the pieces of a text. */
  updates: UpdateRedactor | undefined;
  /** What the agent said beside its last update, until something is shown of that. */
  beside: JsonObject | undefined;
  turn: Turn | undefined;
  /** What its agent does outside of every turn, while it does. */
  unprompted: UnpromptedTurn | undefined;
  /** When its last turn ended, or it was begun: in milliseconds since 1970. */
  idleSince = 0;
  /** Settles when the last turn is over. */
  turnOver: Promise<void> = Promise.resolve();
  /** The content id of the last turn's entry. */
  lastTurn: string | undefined;
  /** Settles when the place of the last turn's entry is taken: what is recorded from then on comes after it. */
  placed: Promise<void> = Promise.resolve();
  /** Settles when the last turn's entry is in the ledger, or cannot be. */
  recorded: Promise<void> = Promise.resolve();
  /** Whether the agent is telling what was before, of which nothing is decided or charged again. */
  replaying = false;
  /** Whether it is being closed: what its agent still does is recorded, but not shown. */
  isClosing = false;
  /** Whether its turn was cut off because Reins stops: nothing of it is recorded or shown any more; the next start does. */
  isCut = false;
  /** What belongs into the system prompt of every request, for an agent that takes it there. */
  instructions: string | undefined;
  /** Whether a turn of it was cancelled and its agent did not end it in time. */
  overran = false;
  /** What was refused since the last prompt, and why; goes in front of the next prompt. */
  readonly refusals: string[] = [];
  /** What it has cost so far, as its agent tells. */
  cost = 0;
  /** The commands that the agent has announced, which it knows only at the beginning of a prompt. */
  commands: readonly string[] = [];
  /** The mode the agent is in. */
  mode = "default";

  /** What it stands under, where another session began it. */
  readonly descent: Descent | undefined;

  constructor(
    port: SessionPort,
    workspace: Workspace,
    {
      agentSessionId = port.record.agent_session_id,
      descent,
    }: { readonly agentSessionId?: string; readonly descent?: Descent | undefined } = {},
  ) {
    this.agentSessionId = agentSessionId;
    this.descent = descent;
    this.port = port;
    this.workspace = workspace;
    this.served = { ...workspace, tools: "acp" };
  }

  get id(): string {
    return this.record.id;
  }

  get record(): SessionRecord {
    return this.port.record;
  }

  get clients(): Clients {
    return this.port.clients;
  }

  /** How far below the user's own agent it stands. */
  get depth(): number {
    return this.descent?.depth ?? 0;
  }
}

/** The owner of a session that no hub serves: it stores the record when the session starts, and never again. */
export class StandaloneSession implements SessionPort {
  readonly clients: Clients;
  readonly #harness: Pick<Harness, "store" | "record">;
  #record: SessionRecord;

  constructor(harness: Pick<Harness, "store" | "record">, record: SessionRecord, clients: Clients) {
    this.#harness = harness;
    this.#record = record;
    this.clients = clients;
  }

  get record(): SessionRecord {
    return this.#record;
  }

  async started(changes: AcceptedChanges, entry: Draft): Promise<void> {
    const starting = { phase: "starting", record: this.#record } as const;
    this.#record = transition(starting, { type: "accepted", changes }, new Date().toISOString()).record;
    await putSession(this.#harness, this.#record, entry);
  }

  async stopped(entry: Draft): Promise<void> {
    await this.#harness.record([entry], { durable: false });
  }
}
