import type { McpOutcome, ServerContext } from "../gate.ts";
import { errorIn, failure, type Message, objectIn, RPC, sameId } from "../message.ts";
import type { AgentLink } from "./agent-request.ts";
import { type GovernedMethods, isHousekeeping, refused } from "./governed-methods.ts";
import { NO_SAMPLING, SAMPLING } from "./outcome.ts";

const MINUTE_MS = 60_000;

interface Open {
  /** The server's own id, of whatever type. */
  readonly id: unknown;
  /** Aborts the verdict that it waits for. */
  readonly deciding: AbortController;
  respond(response: Message): void;
  /** Reports the outcome, once, where it was decided and allowed. */
  report?: ((outcome: McpOutcome) => Promise<unknown>) | undefined;
  /** Whether the agent has been asked. */
  passed: boolean;
}

/** What {@link ServerRequests} are made of. */
interface ServerRequestParts
  extends Pick<ServerContext, "limits" | "clock" | "faults" | "mayAskForSampling"> {
  readonly methods: GovernedMethods;
}

/** What the server asks the agent, under ids of ours: each is decided, but for bookkeeping of the protocol. */
export class ServerRequests {
  readonly #agent: AgentLink;
  readonly #parts: ServerRequestParts;
  readonly #open = new Map<number, Open>();
  #lastId = 0;
  /** How many more may be decided, as of a time. */
  #allowance: { readonly left: number; readonly at: number };

  constructor(agent: AgentLink, parts: ServerRequestParts) {
    this.#agent = agent;
    this.#parts = parts;
    this.#allowance = { left: parts.limits.serverRequestsPerMinute, at: parts.clock.now().getTime() };
  }

  /** Passes a request on to the agent, unless it may not be made. */
  pass(message: Message, respond: (response: Message) => void): void {
    const { limits, mayAskForSampling } = this.#parts;
    if (message.method === SAMPLING && !mayAskForSampling) {
      respond(failure(RPC.methodNotFound, NO_SAMPLING));
      return;
    }
    if (this.#open.size >= limits.requestsInFlight) {
      respond(failure(RPC.lost, "too many requests to the agent are under way"));
      return;
    }
    const isFree = isHousekeeping(message.method, "server request");
    if (!isFree && !this.#takeAllowance()) {
      this.#parts.faults.note("undelivered", "the server asks the agent for too much in a short time");
      respond(failure(RPC.lost, "too many requests to the agent in a short time"));
      return;
    }
    this.#lastId += 1;
    const open: Open = { id: message.id, deciding: new AbortController(), respond, passed: false };
    this.#open.set(this.#lastId, open);
    if (isFree) this.#push(this.#lastId, open, message);
    else void this.#decide(this.#lastId, open, message);
  }

  /** Takes the agent's answer. Says whether it was one to anything. */
  answer(response: Message): boolean {
    const { id } = response;
    const open = typeof id === "number" ? this.#open.get(id) : undefined;
    if (typeof id !== "number" || !open?.passed) return false;
    this.#open.delete(id);
    const error = errorIn(response);
    void open.report?.(
      error
        ? { kind: "failed", reason: error.message, performed: true, error }
        : { kind: "completed", result: null },
    );
    open.respond(response);
    return true;
  }

  /** Passes on that the server takes one of them back. Says whether there was one. */
  cancel(notification: Message, serverId: unknown): boolean {
    for (const [id, open] of this.#open) {
      if (!sameId(open.id, serverId)) continue;
      this.#end(id, open, "the server took it back");
      if (open.passed)
        this.#agent.push({ ...notification, params: { ...objectIn(notification, "params"), requestId: id } });
      return true;
    }
    return false;
  }

  /** Cancels all of them, because the server has ended. */
  withdraw(): void {
    const reason = "the server ended";
    for (const [requestId, open] of this.#open) {
      this.#end(requestId, open, reason);
      if (!open.passed) continue;
      this.#agent.push({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId, reason } });
    }
  }

  /** Whether another one may be decided: a server must not be able to fill the ledger. */
  #takeAllowance(): boolean {
    const { limits, clock } = this.#parts;
    const most = limits.serverRequestsPerMinute;
    const at = clock.now().getTime();
    const back = (Math.max(0, at - this.#allowance.at) * most) / MINUTE_MS;
    const left = Math.min(most, this.#allowance.left + back);
    this.#allowance = { left: left < 1 ? left : left - 1, at };
    return left >= 1;
  }

  async #decide(id: number, open: Open, message: Message): Promise<void> {
    const decision = await this.#parts.methods.decide(message, "server request", open.deciding.signal);
    if (!decision.allowed) {
      if (this.#open.delete(id)) open.respond(refused(decision.reason));
      return;
    }
    if (this.#open.get(id) !== open) {
      const reason = "the server no longer waits for it";
      await decision.report({ kind: "failed", reason, performed: false });
      return;
    }
    open.report = decision.report;
    this.#push(id, open, message);
  }

  #push(id: number, open: Open, message: Message): void {
    open.passed = true;
    if (this.#agent.push({ ...message, id })) return;
    const reason = "the agent cannot be asked anything";
    this.#open.delete(id);
    void open.report?.({ kind: "failed", reason, performed: false });
    open.respond(failure(RPC.lost, reason));
  }

  #end(id: number, open: Open, reason: string): void {
    this.#open.delete(id);
    open.deciding.abort(new Error(reason));
    void open.report?.({ kind: "unknown", reason });
  }
}
