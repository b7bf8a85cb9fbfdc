import { setTimeout as sleep } from "node:timers/promises";
import {
  CANCEL_REQUEST,
  chunkText,
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
import type { AgentEntry, Catalogue } from "@reins/agents";
import type { WorkerDetails } from "@reins/bridge";
import { errorMessage } from "@reins/kit";
import type { Harness, Principal } from "@reins/supervisor";
import { stricterScope } from "../control/mutation-scope.ts";
import type { Allowance, Descent, SubjectScope } from "../control/scope.ts";
import { holds } from "../governor/session-folders.ts";
import type { Connection } from "../hub/connection.ts";
import type { Hub } from "../hub/hub.ts";
import { questionIn } from "../sessions/session-clients.ts";
import type { SessionEnd } from "../sessions/session-record.ts";
import type { Worktrees } from "./worktrees.ts";

/** What starting subagents needs. */
export interface SubagentsOptions {
  readonly harness: Pick<Harness, "identity">;
  readonly catalogue: Catalogue;
  /** Whether an agent is installed: having one installed is for people. */
  readonly isInstalled: (entry: AgentEntry) => Promise<boolean>;
  /** Where sessions live, once that is open. */
  readonly hub: Promise<Hub>;
  readonly worktrees: Worktrees;
  /** Receives errors of background work. */
  readonly onError: (error: unknown) => void;
}

/** A session that has something done, as the harness knows it. */
export interface Parent {
  readonly session: Pick<SubjectScope, "id" | "depth" | "descent" | "workspace" | "mutationScope">;
  readonly principal: Principal;
  /** The agent it acts as. */
  readonly agent: string;
  /** The agent that does it unless another is asked for. */
  readonly fallback: string;
}

/** What a child used, with everything below it, as far as agents report it. */
export interface ChildUsage {
  readonly tokens: number;
  readonly cost: number;
}

/** As much as a task may use that says nothing else. */
const ALLOWANCE: Allowance = { calls: 100, tokens: 1_000_000 };
/** As much of a task as goes on the record. */
const MAX_TASK = 16 * 1024;

/**
 * Starts governed children: sessions of their own, with any agent that there is, below the session that wants them. A
 * child has no more than its user, its parent and its task have in common, counts against its parent's limits, and is
 * gone when its task is done.
 */
export class Subagents {
  readonly #options: SubagentsOptions;
  /** What the children of sessions used that are children themselves, until these end. */
  readonly #below = new Map<string, ChildUsage>();

  constructor(options: SubagentsOptions) {
    this.#options = options;
  }

  /**
   * Has a child do a task; gives what it said. When the signal aborts, so does the child. `onUsage` is called once, when
   * the child has ended, however it did.
   */
  async run(
    parent: Parent,
    task: SubagentTask,
    signal: AbortSignal,
    onUsage: (usage: ChildUsage) => void = () => undefined,
  ): Promise<string> {
    signal.throwIfAborted();
    const { harness, hub, onError } = this.#options;
    const { session, principal } = parent;
    const agent = task.agent ?? parent.fallback;
    await this.#expectInstalled(agent);
    const { session_token, session_id } = await harness.identity.delegate({
      principal,
      hosted: true,
      ...(session.descent && { childToken: session.descent.token }),
      parentSession: session.id,
      parentAgent: parent.agent,
      childAgent: agent,
      task: task.prompt.slice(0, MAX_TASK).toWellFormed(),
      scopes: ["*"],
    });
    try {
      return await this.#inPlace(parent, task, signal, async (placed, worktree) => {
        const descent = descentOf(session, session_token, placed, worktree);
        const run = new ChildRun({ hub: await hub, principal, agent, descent, task: placed, onError });
        return run.run(signal).finally(() => onUsage(this.#used(session, run)));
      });
    } finally {
      await harness.identity.revokeSession(session_id, principal).catch(onError);
    }
  }

  /** Runs a task in its folder, or in the worktree that it wants; what it said then ends with what became of that. */
  async #inPlace(
    { session, principal }: Parent,
    task: SubagentTask,
    signal: AbortSignal,
    run: (task: SubagentTask, worktree?: string) => Promise<string>,
  ): Promise<string> {
    if (!task.worktree) return run(task);
    const { worktrees } = this.#options;
    const roots = session.workspace.realRoots ?? session.workspace.roots;
    if (!roots.some((root) => holds(root, task.workingDir)))
      throw new Error(`${task.workingDir} is in no folder of the session`);
    const worktree = await worktrees.make(task.workingDir, task.worktree, principal.tenant, signal);
    const ended = async () => {
      const end = await worktrees.end(worktree);
      if (end.kind === "removed") return "Its worktree had no changes and was removed.";
      return `Its worktree ${worktree.path} with the branch ${worktree.branch} is kept: ${end.reason}.`;
    };
    const said = await run({ ...task, workingDir: worktree.path }, worktree.path).catch(
      async (error: unknown) => {
        throw new Error(`${errorMessage(error)}. ${await ended()}`, { cause: error });
      },
    );
    return `${said}\n\n[${await ended()}]`;
  }

  /** What a child used, with its own children; counts towards its parent where that is a child too. */
  #used({ id, descent }: Parent["session"], child: ChildRun): ChildUsage {
    const { tokens, cost } = child.usage;
    const below = this.#below.get(child.session);
    this.#below.delete(child.session);
    const used = { tokens: tokens + (below?.tokens ?? 0), cost: cost + (below?.cost ?? 0) };
    const before = this.#below.get(id) ?? { tokens: 0, cost: 0 };
    if (descent) this.#below.set(id, { tokens: before.tokens + used.tokens, cost: before.cost + used.cost });
    return used;
  }

  async #expectInstalled(agent: string): Promise<void> {
    const { catalogue, isInstalled } = this.#options;
    const entry = catalogue.entry(agent);
    if (entry.builtIn || (await isInstalled(entry))) return;
    throw new Error(
      `${entry.name} is not installed; a person can do that with reins agents install ${agent}`,
    );
  }
}

/** The limits of a child: no more tools, and no larger an allowance, than its parent. */
function descentOf(
  { id, depth, descent, workspace, mutationScope }: Parent["session"],
  token: string,
  { tools, allowance, worker }: SubagentTask,
  worktree: string | undefined,
): Descent {
  const above = descent?.allowance ?? ALLOWANCE;
  const inherited = descent?.tools;
  return {
    parent: id,
    parentWorker: descent?.worker,
    worker,
    mutationScope: worktree === undefined ? mutationScope : stricterScope(mutationScope, "apply_worktree"),
    token,
    depth: depth + 1,
    roots: worktree === undefined ? (workspace.realRoots ?? workspace.roots) : [worktree],
    worktree,
    tools: tools && inherited ? tools.filter((tool) => inherited.includes(tool)) : (tools ?? inherited),
    allowance: {
      calls: Math.min(allowance?.calls ?? ALLOWANCE.calls, above.calls),
      tokens: Math.min(allowance?.tokens ?? ALLOWANCE.tokens, above.tokens),
    },
  };
}

/** What a child is run with. */
interface ChildRunOptions {
  readonly hub: Hub;
  readonly principal: Principal;
  readonly agent: string;
  readonly descent: Descent;
  readonly task: SubagentTask;
  /** Receives errors of background work. */
  readonly onError: (error: unknown) => void;
}

/** As much of what a child says as is kept. */
const MAX_SAID = 256 * 1024;
/** How long a child that is to end may take to do so by itself. */
const GRACE_MS = 5_000;

/** One child from its first step to its last: what it says is kept, and what it asks is put to its parent's clients. */
class ChildRun {
  readonly #options: ChildRunOptions;
  /** The questions that were put to the parent's clients, by their ids. */
  readonly #asked = new Map<string, AbortController>();
  readonly #calls = new Set<unknown>();
  #said = "";
  #message: unknown;
  #session = "";
  #tokens = 0;
  #cost = 0;
  /** The turn in which it does its task. */
  #turn: string | undefined;

  constructor(options: ChildRunOptions) {
    this.#options = options;
  }

  get session(): string {
    return this.#session;
  }

  /** What it used, as its agent reports it. */
  get usage(): ChildUsage {
    return { tokens: this.#tokens, cost: this.#cost };
  }

  /** Runs it; gives what it said. */
  async run(signal: AbortSignal): Promise<string> {
    const { hub, principal, agent, descent } = this.#options;
    const connection: Connection = await hub.connect({
      ...{ principal, agent, descent },
      outlet: {
        send: (message) => this.#take(message),
        failed: (error) => this.#options.onError(error),
      },
    });
    try {
      const session = await this.#begin(connection, signal);
      const ownAgent = hub.live(session)?.agent;
      try {
        const said = await this.#prompt(connection, session, signal);
        await this.#end(session, "completed");
        return said;
      } catch (error) {
        await this.#end(session, signal.aborted ? "terminated" : "error");
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

  async #prompt(connection: Connection, sessionId: string, signal: AbortSignal): Promise<string> {
    const prompt = [{ type: "text", text: this.#options.task.prompt }];
    const answer = connection.request("session/prompt", { sessionId, prompt }, signal);
    // An agent that ignores the cancel is not waited for.
    const { stopReason, usage } = readResult("session/prompt", await Promise.race([answer, overdue(signal)]));
    this.#tokens = usage.totalTokens ?? this.#tokens;
    signal.throwIfAborted();
    if (this.#calls.size === 0) this.#options.task.onProgress(this.#place());
    const said = this.#said.trim();
    if (stopReason === "end_turn") return said === "" ? "It ended without a word." : said;
    throw new Error(`it ended with ${String(stopReason)}${said === "" ? "" : `: ${said}`}`);
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

  #observe({ kind, update }: SessionUpdate): void {
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
    const text = kind === "agent_message_chunk" ? chunkText(update) : undefined;
    if (text !== undefined) {
      const { messageId } = update;
      const isNew = this.#said !== "" && messageId !== this.#message;
      const between = isNew && !this.#said.endsWith("\n") ? "\n" : "";
      this.#message = messageId;
      this.#said = `${this.#said}${between}${text}`.slice(0, MAX_SAID);
    }
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

/** Rejects a while after the signal has aborted. */
function overdue(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const abort = () => setTimeout(() => reject(signal.reason), GRACE_MS).unref();
    if (signal.aborted) abort();
    else signal.addEventListener("abort", abort, { once: true });
  });
}
