import { chunkText, type JsonObject, readResult, readUpdate } from "@reins/acp";
import type { Spending } from "@reins/gateway";
import { blake3Hex, canonicalJson } from "@reins/ledger";
import type { UpdateRedactor, Workspace } from "@reins/supervisor";
import type { Clients, SessionPort } from "../control/ask-clients.ts";
import { type MutationScope, mutationScopeIn, stricterScope } from "../control/mutation-scope.ts";
import type { Descent } from "../control/scope.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import type { GovernorContext } from "./context.ts";
import type { HeldMessage } from "./declaring.ts";
import { FilePermits } from "./file-access.ts";
import type { McpPermit, McpToolId, McpVerdict } from "./mcp-cards.ts";
import { ToolCalls } from "./tool-calls.ts";
import type { UnpromptedTurn } from "./unprompted.ts";

/** A session with an agent, and what the governor knows of it. */
export class GovernedSession {
  readonly context: GovernorContext;
  readonly port: SessionPort;
  /** What the agent itself calls it. */
  agentSessionId: string;
  /** Where the agent's own tools work. */
  readonly workspace: Workspace;
  /** The same place for what Reins performs or forwards. */
  readonly served: Workspace;
  /** The terminals that clients run for its agent, each with the client. */
  readonly terminals = new Map<string, string>();
  /** The sessions that its agent began below it by itself, by the agent's ids. */
  readonly children = new Set<string>();
  /** How many actions of its agent are allowed or being decided. */
  readonly actions = { count: 0 };
  /** What has to end with it. */
  readonly closing: (() => Promise<void>)[] = [];
  /** Told when the session's clients may lend other tools, where its agent has those by an MCP server. */
  lentToolsChanged: (() => void) | undefined;
  /** Whether its agent is connected to each of its MCP servers. */
  readonly connected: (() => boolean)[] = [];
  /** The tools of its MCP servers, which Reins performs, by the names that the agent may give them. */
  readonly mcpTools = new Map<string, readonly McpToolId[]>();
  /** Calls of MCP tools that were allowed when the agent asked, and that it has not made yet. */
  readonly mcpPermits: McpPermit[] = [];
  /** Verdicts of this turn on calls of MCP tools that no card of the agent was found for yet, and the cards that have one. */
  readonly mcpVerdicts: McpVerdict[] = [];
  readonly mcpCards = new Map<string, McpVerdict>();
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
  /** Whether the agent is replaying earlier updates, of which nothing is decided or charged again. */
  replaying = false;
  /** Whether every call of it is known here, so that a replay can be distinguished from what is new. */
  knowsAllCalls = false;
  /** Whether it is being closed: what its agent still does is recorded, but not shown. */
  isClosing = false;
  /** Whether it was closed, or is none that Reins began: what its agent does in it is recorded, but not shown. */
  isClosed = false;
  /** Whether its turn was cut off because Reins stops: nothing of it is recorded or shown any more; the next start does. */
  isCut = false;
  /** What belongs into the system prompt of every request, for an agent that takes it there. */
  instructions: string | undefined;
  /** Whether a turn of it was cancelled and its agent did not end it in time. */
  overran = false;
  /** What was refused since the last prompt, and why; goes in front of the next prompt. */
  readonly refusals: string[] = [];
  /** What it has cost so far, as its agent reports. */
  cost = 0;
  /** The commands that the agent has announced, which it knows only at the beginning of a prompt. */
  commands: readonly string[] = [];
  /** The mode that Reins put the agent into: that of its launch profile, or one that a client set after a verdict. */
  mode = "default";
  /** The mode the agent says it is in: a claim, which can only make a verdict stricter. */
  claimedMode: string | undefined;
  /** The mode that a client is setting, until the agent has answered. */
  pendingMode: string | undefined;
  /** The mode that the agent is held in: that of its launch profile, until a client sets another; nothing where it has none. */
  pinnedMode: string | undefined;
  /** The options that the agent is held at: those of its launch profile, until a client sets another value. */
  readonly pinnedOptions = new Map<string, unknown>();
  /** The option that a client is setting, until the agent has answered. */
  pendingOption: { readonly id: string; readonly value: unknown } | undefined;
  /** A mode other than that, into which a verdict allowed the agent to go. */
  allowedMode: string | undefined;

  /** Its limits, where another session began it. */
  readonly descent: Descent | undefined;
  /** Whether it began with this agent, so that the ledger has nothing of it from before. */
  readonly isNew: boolean;
  /** When its last turn began: in milliseconds since 1970. */
  #turnBegan = 0;
  #toolCalls: ToolCalls | undefined;
  #permits: FilePermits | undefined;

  /** Whether a client lends tools that its agent could have and does not. */
  get lacksLentTools(): boolean {
    const { servers, profile, entry } = this.context;
    if (this.lentToolsChanged || !servers?.wrapLocal || !profile.isObserved) return false;
    if (entry.quirks?.mcp.length === 0) return false;
    return this.clients.whoServes?.("host/tools/list", {}) !== undefined;
  }

  constructor(
    context: GovernorContext,
    port: SessionPort,
    workspace: Workspace,
    {
      agentSessionId = port.record.agent_session_id,
      descent,
      isNew = false,
    }: {
      readonly agentSessionId?: string;
      readonly descent?: Descent | undefined;
      readonly isNew?: boolean;
    } = {},
  ) {
    this.context = context;
    this.isNew = isNew;
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

  /** Its tool calls; made with the first, because most turns have none. */
  get toolCalls(): ToolCalls {
    this.#toolCalls ??= new ToolCalls(this.#turnBegan, this.context.entry);
    return this.#toolCalls;
  }

  /** Verdicts that cover what its agent asks Reins to do to files; made with the first. */
  get permits(): FilePermits {
    this.#permits ??= new FilePermits();
    return this.#permits;
  }

  /** A signal that also aborts when its turn is over. */
  within(signal: AbortSignal): AbortSignal {
    return this.turn ? AbortSignal.any([signal, this.turn.signal]) : signal;
  }

  /** Continues the calls of the same session before it was loaded again. */
  continueCalls(former: GovernedSession): void {
    this.knowsAllCalls = former.knowsAllCalls;
    if (former.hasToolCalls) this.#toolCalls = former.toolCalls;
  }

  /** Whether its agent has called a tool. */
  get hasToolCalls(): boolean {
    return this.#toolCalls !== undefined;
  }

  /** Begins a turn. */
  beginTurn(turn: Turn): void {
    this.turn = turn;
    this.mcpVerdicts.length = 0;
    this.mcpPermits.length = 0;
    this.mcpCards.clear();
    this.#turnBegan = Date.parse(turn.started);
    this.#toolCalls?.beginTurn(this.#turnBegan);
  }

  /** Ends its turn, at a time in milliseconds since 1970. */
  endTurn(at: number): void {
    const { turn } = this;
    this.turn = undefined;
    this.unprompted = undefined;
    this.idleSince = at;
    this.#permits = undefined;
    this.#toolCalls?.endTurn();
    turn?.finish();
  }

  /** How far it may change things; as far as rules allow when absent. */
  get mutationScope(): MutationScope | undefined {
    return stricterScope(mutationScopeIn(this.record.mutation_scope), this.descent?.mutationScope);
  }

  /** How far below the user's own agent it is. */
  get depth(): number {
    return this.descent?.depth ?? 0;
  }
}

/** How much of what an agent says in one turn is kept for its hash. */
const MAX_OUTPUT = 32 * 1024 * 1024;
const OVER = new Error("the turn is over");

/** What an agent says it used, or the gateway counted; `estimated` where a provider did not say all of it. */
export interface TurnUsage extends Partial<Spending> {
  readonly estimated?: true;
}

/** One prompt and everything until it is answered. */
export class Turn {
  readonly id: string;
  readonly started: string;
  /** The user who prompted it, where that is known. */
  promptedBy: string | undefined;
  /** The entry of the verdict on its prompt. */
  verdict: string | undefined;
  /** The entries it covers, in order. */
  readonly entries: string[] = [];
  /** Whether a verdict allowed its agent to leave the mode in which it asks. */
  mayLeaveMode = false;
  /** The settings that its agent left without a verdict, by what sets them. */
  readonly leftSettings = new Set<string>();
  /** Holds back its message, of an agent that declares action graphs. */
  held: HeldMessage | undefined;
  /** What its calls to models used, where the gateway counts them; each is charged when it ends. */
  counted: (TurnUsage & Spending) | undefined;
  readonly #writing = new Set<Promise<unknown>>();
  readonly #deferred: Promise<string | undefined>[] = [];
  readonly #output: string[] = [];
  /** What went in, without secrets. */
  readonly prompt: () => unknown;
  #end: AbortController | undefined;
  #over: Error | undefined;
  #input: string | undefined;
  #outputSize = 0;
  /** What the session has cost, as last reported. */
  #costAfter: number;
  /** What the turn has cost, once that is reported. */
  #spent: number | undefined;
  #tokens = 0;
  #charged = { tokens: 0, cost: 0 };
  #cancelled = false;
  #onCancel: (() => void) | undefined;

  /** `costBefore` is what the session had cost when the turn began, as far as its agent reports it. */
  constructor(id: string, started: string, prompt: () => unknown, costBefore = 0) {
    this.id = id;
    this.started = started;
    this.#costAfter = costBefore;
    this.prompt = prompt;
    // There is time for it while the verdict is being written.
    setImmediate(() => this.#inputHash());
  }

  /** Aborts when the turn is cancelled or over. Made on demand: most turns need none, and it is expensive. */
  get signal(): AbortSignal {
    this.#end ??= new AbortController();
    if (this.#over) this.#end.abort(this.#over);
    return this.#end.signal;
  }

  /** Whether it is cancelled or over. */
  get isOver(): boolean {
    return this.#over !== undefined;
  }

  /** Whether it was cancelled. */
  get isCancelled(): boolean {
    return this.#cancelled;
  }

  /** Ends everything that waits in it. */
  cancel(reason: string): void {
    const isFirst = !this.#cancelled;
    this.#cancelled = true;
    this.#stop(new Error(reason));
    if (isFirst) this.#onCancel?.();
  }

  /** Does something when it is cancelled. */
  onCancel(run: () => void): void {
    this.#onCancel = run;
    if (this.#cancelled) run();
  }

  /** Ends it after its answer has come. */
  finish(): void {
    this.#stop(OVER);
  }

  /** Waits for a write before the turn's own. The writer reports its failure. */
  awaits(writing: Promise<unknown>): void {
    const settled = () => void this.#writing.delete(writing);
    this.#writing.add(writing);
    // At once: it may fail long before the turn ends.
    writing.then(settled, settled);
  }

  /** Settles when everything that belongs to it is written; nothing where that is so already. */
  written(): Promise<unknown> | undefined {
    return this.#writing.size > 0 ? Promise.allSettled(this.#writing) : undefined;
  }

  /** Notes a verdict that is not written yet: the next request to a model waits for it. */
  defer(written: Promise<string | undefined>): void {
    this.#deferred.push(written);
    this.awaits(written);
  }

  /** Whether the deferred verdicts are all written, once they are or cannot be. */
  async isDecided(): Promise<boolean> {
    const entries = await Promise.all(this.#deferred.splice(0));
    return entries.every((entry) => entry !== undefined);
  }

  /** Notes an update that clients get. */
  note(update: JsonObject): void {
    const { sessionUpdate } = update;
    if (sessionUpdate !== "agent_message_chunk" || this.#outputSize >= MAX_OUTPUT) return;
    const text = chunkText(update);
    if (text === undefined) return;
    this.#output.push(text);
    this.#outputSize += text.length;
  }

  /** Notes what an update of the agent says was used. A cost that goes down is no credit: what follows is added. */
  noteUsage(update: JsonObject): void {
    if (update.sessionUpdate !== "usage_update") return;
    const { cost, used = 0 } = readUpdate("usage_update", update);
    this.#tokens = Math.max(this.#tokens, used);
    const { amount } = cost;
    if (amount === undefined) return;
    this.#spent = (this.#spent ?? 0) + Math.max(0, amount - this.#costAfter);
    this.#costAfter = amount;
  }

  /** Adds what a call to a model used, as the gateway counted it: what its agent says it used does not count then. */
  countCall({ tokens = 0, cost = 0, ...rest }: TurnUsage): void {
    const before = this.counted ?? { tokens: 0, cost: 0 };
    this.counted = { ...before, ...rest, tokens: before.tokens + tokens, cost: before.cost + cost };
  }

  /** What it used, as counted, or from its answer and the updates before it. */
  usage(answer: unknown): TurnUsage {
    if (this.counted) return this.counted;
    const { totalTokens } = readResult("session/prompt", answer).usage;
    // A turn that failed has used what its context held at least.
    const tokens = totalTokens ?? (answer === undefined && this.#tokens > 0 ? this.#tokens : undefined);
    const cost = this.#spent;
    return { ...(tokens !== undefined && { tokens }), ...(cost !== undefined && { cost }) };
  }

  /** What of its usage was not charged yet; counts as charged from then on. */
  takeUncharged({ tokens = 0, cost = 0 }: TurnUsage): TurnUsage {
    if (this.counted) return {};
    const { tokens: chargedTokens, cost: chargedCost } = this.#charged;
    const rest = { tokens: Math.max(0, tokens - chargedTokens), cost: Math.max(0, cost - chargedCost) };
    this.#charged = { tokens: chargedTokens + rest.tokens, cost: chargedCost + rest.cost };
    return { ...(tokens > 0 && { tokens: rest.tokens }), ...(cost > 0 && { cost: rest.cost }) };
  }

  /** The most tokens that its context held: no more than it has used. */
  get tokens(): number {
    return this.#tokens;
  }

  /** What it has cost so far: as counted, or as its agent says. */
  get cost(): number {
    return this.counted?.cost ?? this.#spent ?? 0;
  }

  /** What the session has cost now; agents report the cost of the whole session. */
  get costAfter(): number {
    return this.#costAfter;
  }

  /** The hashes of what went in and of what the agent said. */
  get hashes(): { readonly inputs_hash: string; readonly outputs_hash: string } {
    return { inputs_hash: this.#inputHash(), outputs_hash: blake3Hex(this.#output.join("")) };
  }

  #inputHash(): string {
    this.#input ??= blake3Hex(canonicalJson(this.prompt()));
    return this.#input;
  }

  #stop(reason: Error): void {
    this.#over ??= reason;
    this.#end?.abort(this.#over);
  }
}
