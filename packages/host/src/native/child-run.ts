import { setTimeout as sleep } from "node:timers/promises";
import {
  CANCEL_REQUEST,
  isObject,
  type JsonObject,
  readParams,
  readResult,
  readUpdate,
  type SessionUpdate,
  toolCallIn,
  updateIn,
  withReinsMeta,
} from "@reins/acp";
import type { SubagentTask } from "@reins/agent";
import type { WorkerDetails } from "@reins/bridge";
import { raceAbort } from "@reins/kit";
import type { Approval, Principal } from "@reins/supervisor";
import type { Descent } from "../control/scope.ts";
import { join } from "../hub/attach.ts";
import type { Connection } from "../hub/connection.ts";
import type { Hub } from "../hub/hub.ts";
import { questionIn } from "../sessions/session-clients.ts";
import type { SessionEnd, SessionRecord } from "../sessions/session-record.ts";
import { continuation, type EarlierQuestion, type EarlierWork, SaidText } from "./earlier-work.ts";

/** What a child used, with everything below it, as far as agents report it. */
export interface ChildUsage {
  readonly tokens: number;
  readonly cost: number;
}

/** A child of an earlier process, and what it did there. */
export interface EarlierChild {
  readonly record: SessionRecord;
  readonly work: EarlierWork;
}

/** What a child is run with. */
interface ChildRunOptions {
  readonly hub: Hub;
  readonly principal: Principal;
  readonly agent: string;
  readonly descent: Descent;
  readonly task: SubagentTask;
  /** The child that goes on, where an earlier process began it. */
  readonly earlier?: EarlierChild | undefined;
  /** Receives errors of background work. */
  readonly onError: (error: unknown) => void;
}

/** How long a child that is to end may take to do so by itself. */
const GRACE_MS = 5_000;

/** One child from its first step to its last: what it says is kept, and what it asks is put to its parent's clients. */
export class ChildRun {
  readonly #options: ChildRunOptions;
  /** The questions that were put to the parent's clients, by their ids. */
  readonly #asked = new Map<string, AbortController>();
  readonly #calls = new Set<unknown>();
  readonly #said: SaidText;
  #session = "";
  #tokens = 0;
  #cost = 0;
  /** The turn in which it does its task. */
  #turn: string | undefined;

  constructor(options: ChildRunOptions) {
    this.#options = options;
    this.#said = options.earlier?.work.said ?? new SaidText();
  }

  get session(): string {
    return this.#session;
  }

  /** What it used, as its agent reports it. */
  get usage(): ChildUsage {
    const { tokens = 0, cost = 0 } = this.#options.earlier?.work ?? {};
    return { tokens: tokens + this.#tokens, cost: cost + this.#cost };
  }

  /** Runs it; gives what it said. */
  async run(signal: AbortSignal): Promise<string> {
    const { hub, principal, agent, descent, task, earlier } = this.#options;
    const connection: Connection = await hub.connect({
      ...{ principal, agent, descent },
      outlet: {
        send: (message) => this.#take(message),
        failed: (error) => this.#options.onError(error),
      },
    });
    try {
      const session = earlier
        ? await this.#adopt(connection, earlier)
        : await this.#begin(connection, signal);
      let ownAgent = hub.live(session)?.agent;
      try {
        const prompt = earlier ? await this.#continued(earlier, signal) : task.prompt;
        const answer = this.#prompt(connection, { sessionId: session, prompt }, signal);
        const said = await answer.finally(() => {
          ownAgent ??= hub.live(session)?.agent;
        });
        await this.#end(session, "completed");
        return said;
      } catch (error) {
        // One that Reins cut off because it stops goes on after the next start.
        const isCut = hub.live(session)?.phase === "interrupted" && descent.run !== undefined;
        if (!isCut) await this.#end(session, signal.aborted ? "terminated" : "error");
        throw error;
      } finally {
        // A process that was started for the task is not kept after it.
        if (ownAgent?.process) hub.restart(ownAgent, "its task is over").catch(this.#options.onError);
      }
    } finally {
      for (const asked of this.#asked.values()) asked.abort(new Error("the subagent has ended"));
      hub.disconnect(connection);
    }
  }

  async #begin(connection: Connection, signal: AbortSignal): Promise<string> {
    const { agent, task } = this.#options;
    const params = withReinsMeta({ cwd: task.workingDir, mcpServers: [] }, { agent });
    const { sessionId } = readResult("session/new", await connection.request("session/new", params, signal));
    this.#session = String(sessionId);
    task.onProgress(this.#place());
    return this.#session;
  }

  /** Attaches to the session of an earlier process. What it still asks is asked in the parent's session too. */
  async #adopt(connection: Connection, { record }: EarlierChild): Promise<string> {
    const { hub, descent, task } = this.#options;
    const session = hub.sessions.serve(record);
    session.descent = descent;
    this.#session = session.id;
    task.onProgress(this.#place());
    await join(connection, session);
    return session.id;
  }

  /** Waits until people have answered what it asked before, and makes the prompt with which it goes on. */
  async #continued({ record, work }: EarlierChild, signal: AbortSignal): Promise<string> {
    const { task } = this.#options;
    const asked = await this.#openApprovals(record);
    if (asked.some(({ state }) => state === "pending")) {
      task.onProgress({ summary: "it waits for a person" }, "WorkerWaitingForInput");
      await this.#settled(record, signal);
      task.onProgress({});
    }
    if (work.state === "unprompted") return task.prompt;
    const answered: EarlierQuestion[] = [];
    for (const { id, tool, facts } of asked) {
      const { state } = (await this.#options.hub.harness.approvals.get(id, record.tenant)) ?? {};
      answered.push({ tool, arguments: facts.arguments, isAllowed: state === "approved" });
    }
    return continuation(task.prompt, work, answered);
  }

  /** The approvals of a session that wait for an answer, or for their use. */
  async #openApprovals({ tenant, id, key }: SessionRecord): Promise<readonly Approval[]> {
    const { approvals } = this.#options.hub.harness;
    const lists = (["pending", "approved"] as const).map((state) =>
      approvals.list({ tenant, session: id, state, order: "oldest" }),
    );
    return (await Promise.all(lists)).flat().filter(({ session_key }) => session_key === key);
  }

  /** Waits until no approval of a session is pending. */
  async #settled(record: SessionRecord, signal: AbortSignal): Promise<void> {
    const { approvals } = this.#options.hub.harness;
    const { session } = this;
    let changed = Promise.withResolvers<void>();
    const unsubscribe = approvals.subscribe(({ approval }) => {
      if (approval.session === session) changed.resolve();
    });
    try {
      for (;;) {
        changed = Promise.withResolvers<void>();
        const open = await this.#openApprovals(record);
        if (open.every(({ state }) => state !== "pending")) return;
        await raceAbort(changed.promise, signal);
      }
    } finally {
      unsubscribe();
    }
  }

  async #prompt(
    connection: Connection,
    { sessionId, prompt: text }: { readonly sessionId: string; readonly prompt: string },
    signal: AbortSignal,
  ): Promise<string> {
    const prompt = [{ type: "text", text }];
    const answer = connection.request("session/prompt", { sessionId, prompt }, signal);
    // An agent that ignores the cancel is not waited for.
    const { stopReason, usage } = readResult("session/prompt", await Promise.race([answer, overdue(signal)]));
    this.#tokens = usage.totalTokens ?? this.#tokens;
    signal.throwIfAborted();
    if (this.#calls.size === 0) this.#options.task.onProgress(this.#place());
    return resultOf(this.#said, stopReason);
  }

  /** A session that was begun for one task is over with it. */
  async #end(session: string, reason: SessionEnd["reason"]): Promise<void> {
    const { hub, principal, onError } = this.#options;
    const how = { reason, terminated_by: "daemon" } as const;
    const ended = hub.terminate(principal, session, how).then(() => undefined);
    const late = sleep(GRACE_MS, undefined, { ref: false });
    ended.catch(onError);
    await Promise.race([ended.catch(() => undefined), late]);
  }

  #take({ id, method, params }: JsonObject): void {
    if (typeof id === "string" && typeof method === "string")
      this.#ask(id, method, isObject(params) ? params : {});
    else if (method === CANCEL_REQUEST)
      this.#asked
        .get(String(readParams(method, params).requestId))
        ?.abort(new Error("the question was cancelled"));
    else if (method === "session/update") this.#observe(updateIn(params));
  }

  #observe(observed: SessionUpdate): void {
    const { kind, update } = observed;
    const { hub, task, descent, onError } = this.#options;
    const { onProgress } = task;
    // Only Reins's own agent sends these: what its worker delegates is shown below it.
    if (kind === "worker_update") hub.live(descent.parent)?.update(update).catch(onError);
    if (kind === "usage_update") {
      const { used = 0, cost } = readUpdate(kind, update);
      this.#tokens = Math.max(this.#tokens, used);
      this.#cost = Math.max(this.#cost, cost.amount ?? 0);
    }
    this.#turn ??= hub.live(this.#session)?.agent?.governor.session(this.#session)?.turn?.id;
    this.#said.take(observed);
    if (kind !== "tool_call" || this.#calls.has(update.toolCallId)) return;
    this.#calls.add(update.toolCallId);
    onProgress({ ...this.#place(), summary: readUpdate(kind, update).title ?? "it works" });
  }

  /** Where it and what it does can be looked at. */
  #place(): WorkerDetails {
    const { parent, parentWorker } = this.#options.descent;
    return {
      audit: {
        parent_session_id: parent,
        ...(parentWorker !== undefined && { parent_worker_id: parentWorker }),
        session_id: this.#session,
        ...(this.#turn !== undefined && { run_id: this.#turn }),
      },
      snapshot_path: `/v1/sessions/${this.#session}`,
      ...(this.#turn !== undefined && { run_path: `/v1/runs/${this.#turn}` }),
    };
  }

  /** What the child asks is asked in the parent's session too; the first answer counts, wherever it comes from. */
  #ask(id: string, method: string, params: JsonObject): void {
    const { hub, descent, agent, task, onError } = this.#options;
    const key = questionIn(id);
    const parent = hub.live(descent.parent);
    if (key === undefined || !parent) return;
    const over = new AbortController();
    this.#asked.set(id, over);
    const { toolCall } = params;
    const summary = toolCallIn(toolCall).title ?? method;
    const title = `${agent}, for this session: ${summary}`;
    task.onProgress({ summary }, "WorkerWaitingForInput");
    const asked = {
      ...withReinsMeta(params, { child_session: params.sessionId, child_agent: agent }),
      sessionId: parent.id,
      ...(isObject(toolCall) && { toolCall: { ...toolCall, title } }),
    };
    parent.clients
      .request(method, asked, over.signal)
      .then((answer) => hub.asking(key)?.settle(key, answer))
      .catch((error: unknown) => {
        if (!over.signal.aborted) onError(error);
      })
      .finally(() => {
        this.#asked.delete(id);
        if (this.#asked.size === 0) task.onProgress({});
      });
  }
}

/** What a child came to whose turn is over: what it said. Throws for one that did not end by itself. */
export function resultOf({ text }: SaidText, stopReason: unknown): string {
  const said = text.trim();
  if (stopReason === "end_turn") return said === "" ? "It ended without a word." : said;
  throw new Error(`it ended with ${String(stopReason)}${said === "" ? "" : `: ${said}`}`);
}

/** Rejects a while after the signal has aborted. */
function overdue(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = () => setTimeout(() => reject(signal.reason), GRACE_MS).unref();
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}
