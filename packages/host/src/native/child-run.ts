import { setTimeout as sleep } from "node:timers/promises";
import { type JsonObject, membersOf } from "@reins/acp";
import type { SubagentTask } from "@reins/agent";
import type { WorkerDetails } from "@reins/bridge";
import type { Principal } from "@reins/supervisor";
import type { Descent } from "../control/scope.ts";
import type { Connection } from "../hub/connection.ts";
import type { Hub } from "../hub/hub.ts";
import { questionIn } from "../hub/question-id.ts";
import type { SessionEnd } from "../sessions/session-record.ts";

/** What a child is run with. */
export interface ChildRunOptions {
  readonly hub: Hub;
  readonly principal: Principal;
  readonly agent: string;
  readonly descent: Descent;
  readonly task: SubagentTask;
  /** Told what went wrong in the background. */
  readonly onError: (error: unknown) => void;
}

/** As much of what a child says as is kept. */
const MAX_SAID = 256 * 1024;
/** How long a child that is to end may take to do so by itself. */
const GRACE_MS = 5_000;

/** One child from its first step to its last: what it says is kept, and what it asks is put to its parent's clients. */
export class ChildRun {
  readonly #options: ChildRunOptions;
  /** The questions that were put to the parent's clients, by their ids. */
  readonly #asked = new Map<string, AbortController>();
  readonly #calls = new Set<unknown>();
  #said = "";
  #message: unknown;
  #session = "";
  /** The turn in which it does its task. */
  #turn: string | undefined;

  constructor(options: ChildRunOptions) {
    this.#options = options;
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
      try {
        const said = await this.#prompt(connection, session, signal);
        await this.#end(session, "completed");
        return said;
      } catch (error) {
        await this.#end(session, signal.aborted ? "terminated" : "error");
        throw error;
      }
    } finally {
      for (const asked of this.#asked.values()) asked.abort(new Error("the subagent has ended"));
      hub.disconnect(connection);
    }
  }

  async #begin(connection: Connection, signal: AbortSignal): Promise<string> {
    const { agent, task } = this.#options;
    const _meta = { reins: { agent } };
    const params = { cwd: task.workingDir, mcpServers: [], _meta };
    const { sessionId } = membersOf(await connection.request("session/new", params, signal));
    this.#session = String(sessionId);
    task.onProgress(this.#place());
    return this.#session;
  }

  async #prompt(connection: Connection, sessionId: string, signal: AbortSignal): Promise<string> {
    const prompt = [{ type: "text", text: this.#options.task.prompt }];
    const answer = connection.request("session/prompt", { sessionId, prompt }, signal);
    // An agent that does not end its turn when it is told to is not waited for.
    const { stopReason } = membersOf(await Promise.race([answer, overdue(signal)]));
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

  #take({ id, method, params: given }: JsonObject): void {
    const params = membersOf(given);
    if (typeof id === "string" && typeof method === "string") this.#ask(id, method, params);
    else if (method === "$/cancel_request")
      this.#asked.get(String(params.requestId))?.abort(new Error("the question was taken back"));
    else if (method === "session/update") this.#heed(membersOf(params.update));
  }

  #heed({ sessionUpdate, content, messageId, toolCallId, title }: JsonObject): void {
    const { hub, task } = this.#options;
    const { onProgress } = task;
    this.#turn ??= hub.live(this.#session)?.agent?.governor.session(this.#session)?.turn?.id;
    const { text } = membersOf(content);
    if (sessionUpdate === "agent_message_chunk" && typeof text === "string") {
      const isNew = this.#said !== "" && messageId !== this.#message;
      const between = isNew && !this.#said.endsWith("\n") ? "\n" : "";
      this.#message = messageId;
      this.#said = `${this.#said}${between}${text}`.slice(0, MAX_SAID);
    }
    if (sessionUpdate !== "tool_call" || this.#calls.has(toolCallId)) return;
    this.#calls.add(toolCallId);
    onProgress({ ...this.#place(), summary: String(title ?? "it works") });
  }

  /** Where it and what it does can be looked at. */
  #place(): WorkerDetails {
    const { parent } = this.#options.descent;
    return {
      audit: {
        parent_session_id: parent,
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
    const toolCall = membersOf(params.toolCall);
    const title = `${agent}, for this session: ${String(toolCall.title ?? method)}`;
    task.onProgress({ summary: String(toolCall.title ?? method) }, "WorkerWaitingForInput");
    const { reins, ...meta } = membersOf(params._meta);
    const asked = {
      ...params,
      sessionId: parent.id,
      ...(params.toolCall !== undefined && { toolCall: { ...toolCall, title } }),
      _meta: { ...meta, reins: { ...membersOf(reins), child_session: params.sessionId, child_agent: agent } },
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
