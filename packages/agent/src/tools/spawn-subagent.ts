import { isDeepStrictEqual } from "node:util";
import {
  advanceWorker,
  isTerminal,
  spawnWorker,
  type Worker,
  type WorkerDetails,
  type WorkerEvent,
  workerUpdate,
} from "@reins/bridge";
import { errorMessage } from "@reins/kit";
import { z } from "zod";
import { requireFolder } from "../files/workspace-files.ts";
import { defineTool, type ToolContext, ToolError } from "./tool.ts";

const TIMEOUT_SECONDS = 120;
const MAX_TIMEOUT_SECONDS = 3_600;
const MAX_TEXT = 50 * 1024;
const SUMMARY_LENGTH = 200;

/** How a worktree for a child is made. */
const WorktreeRequest = z.strictObject({
  base_ref: z
    .string()
    .regex(/^\w[\w./~^-]{0,199}$/)
    .optional()
    .describe("The commit to start from; HEAD when absent"),
  branch: z
    .string()
    .regex(/^\w[\w-]{0,63}$/)
    .optional()
    .describe("Part of the name of its branch"),
  cleanup: z
    .enum(["remove", "keep"])
    .optional()
    .describe("Whether it is removed when nothing was changed in it"),
});

/** Runs a task in a governed child session, which clients follow as a worker. */
export const spawnSubagent = defineTool({
  name: "spawn_subagent",
  description:
    "Starts another agent on a task and waits for what it says, for at most two minutes unless more is given. It works in one folder, under the same rules, and may do no more than this session.",
  kind: "other",
  isConcurrent: true,
  arguments: z.strictObject({
    prompt: z.string().min(1).describe("The task, with everything the other agent needs to know"),
    working_dir: z.string().min(1).optional().describe("Where it works; the working folder when absent"),
    worktree: z
      .union([z.boolean(), WorktreeRequest])
      .optional()
      .describe("A git worktree of its own instead of the working folder, which is the top of a repository"),
    agent: z.string().min(1).max(64).optional().describe("Which agent, such as claude; this one when absent"),
    allowed_tools: z
      .array(z.string().min(1).max(128))
      .max(64)
      .optional()
      .describe("The only tools it may use; all that the rules leave it when absent"),
    max_calls: z.int().min(1).max(1_000).optional().describe("How many calls of tools it may make"),
    max_tokens: z.int().min(1).optional().describe("How many tokens it may use"),
    timeout_seconds: z
      .int()
      .min(1)
      .max(MAX_TIMEOUT_SECONDS)
      .optional()
      .describe("How long it may take; 120 when absent"),
  }),
  title: ({ prompt, agent }) => `Have ${agent ?? "a subagent"}: ${prompt}`,
  prepare: async ({ working_dir = "." }, { roots }) => ({ locations: [await roots.resolve(working_dir)] }),
  async perform(given, context) {
    const { prompt, working_dir = ".", agent, timeout_seconds = TIMEOUT_SECONDS } = given;
    const { services, roots, sessionId, signal } = context;
    const { subagents } = services;
    if (!subagents) throw new ToolError("failed", "subagents are not available here");
    const workingDir = await roots.resolve(working_dir);
    await requireFolder(workingDir, working_dir);
    const parentWorker = services.workerOf?.(sessionId);
    const worker = new WorkerReporter(context, {
      name: agent ?? "subagent",
      task: prompt,
      audit: {
        parent_session_id: services.nameOf?.(sessionId) ?? sessionId,
        ...(parentWorker !== undefined && { parent_worker_id: parentWorker }),
      },
    });
    const timeout = new PausableTimeout(timeout_seconds * 1_000);
    try {
      const text = await subagents.run(
        {
          ...{ sessionId, prompt, workingDir, agent, worker: worker.id, turn: context.turn },
          tools: given.allowed_tools,
          worktree: given.worktree === true ? {} : given.worktree || undefined,
          allowance: { calls: given.max_calls, tokens: given.max_tokens },
          onProgress: (details, event = "WorkerProgressed") => {
            if (event === "WorkerWaitingForInput") timeout.pause();
            else timeout.resume();
            worker.report(event, details);
          },
        },
        AbortSignal.any([signal, timeout.signal]),
      );
      worker.report("WorkerCompleted", { summary: text.slice(0, SUMMARY_LENGTH) });
      return { text: text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}\n[cut here]` : text };
    } catch (error) {
      const why = timeout.signal.aborted
        ? `it took longer than ${timeout_seconds} seconds`
        : errorMessage(error);
      worker.report(signal.aborted ? "WorkerCancelled" : "WorkerFailed", { error: why });
      signal.throwIfAborted();
      throw new ToolError("failed", `the subagent failed: ${why}`, { cause: error });
    } finally {
      timeout.cancel();
      await worker.reported;
    }
  },
});

/** Reports every step of a worker, in order. */
class WorkerReporter {
  readonly #context: Pick<ToolContext, "onWorker" | "clock">;
  #worker: Worker;
  #reported: Promise<void>;

  constructor(
    context: Pick<ToolContext, "onWorker" | "clock" | "newId">,
    given: Pick<Worker, "name" | "task" | "audit">,
  ) {
    this.#context = context;
    this.#worker = spawnWorker({
      id: `worker_${context.newId()}`,
      ...given,
      mode: "sub_agent",
      at: context.clock.now().toISOString(),
    });
    this.#reported = handled(context.onWorker(workerUpdate(this.#worker)));
  }

  get id(): string {
    return this.#worker.id;
  }

  /** Settles when all reports have been delivered. */
  get reported(): Promise<void> {
    return this.#reported;
  }

  report(event: Exclude<WorkerEvent, "WorkerSpawned">, details: WorkerDetails): void {
    // Events after the end, as of an abandoned child, change nothing.
    if (isTerminal(this.#worker)) return;
    const known = Object.entries(details).every(([name, value]) =>
      isDeepStrictEqual(value, this.#worker[name as keyof WorkerDetails]),
    );
    if (event === this.#worker.event && known) return;
    this.#worker = advanceWorker(this.#worker, event, this.#context.clock.now().toISOString(), details);
    const update = workerUpdate(this.#worker);
    this.#reported = handled(this.#reported.then(() => this.#context.onWorker(update)));
  }
}

/** Marks a rejection as handled; the last await still receives it. */
function handled(reported: Promise<void>): Promise<void> {
  reported.catch(() => undefined);
  return reported;
}

/** The timers of a timeout. */
export interface TimerSource {
  /** Monotonic milliseconds. */
  readonly now: () => number;
  /** Runs a callback once; returns a function that cancels it. */
  readonly after: (milliseconds: number, run: () => void) => () => void;
}

const systemTimers: TimerSource = {
  now: () => performance.now(),
  after: (milliseconds, run) => {
    const timer = setTimeout(run, milliseconds);
    return () => clearTimeout(timer);
  },
};

/** A timeout that can be paused, as while a person is asked. */
export class PausableTimeout {
  readonly #over = new AbortController();
  readonly #timers: TimerSource;
  #left: number;
  #began: number | undefined;
  #cancelTimer: () => void = () => undefined;
  #isDone = false;

  constructor(milliseconds: number, timers: TimerSource = systemTimers) {
    this.#left = milliseconds;
    this.#timers = timers;
    this.resume();
  }

  /** Aborts on timeout. */
  get signal(): AbortSignal {
    return this.#over.signal;
  }

  /** Starts or continues the countdown. */
  resume(): void {
    if (this.#began !== undefined || this.#isDone) return;
    this.#began = this.#timers.now();
    this.#cancelTimer = this.#timers.after(this.#left, () => this.#over.abort(new Error("timed out")));
  }

  /** Stops the countdown for good. */
  cancel(): void {
    this.pause();
    this.#isDone = true;
  }

  /** Pauses the countdown. */
  pause(): void {
    if (this.#began === undefined) return;
    this.#cancelTimer();
    this.#left = Math.max(0, this.#left - (this.#timers.now() - this.#began));
    this.#began = undefined;
  }
}
