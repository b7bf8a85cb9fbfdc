import {
  advanceWorker,
  isTerminal,
  spawnWorker,
  type Worker,
  type WorkerDetails,
  type WorkerEvent,
  workerUpdate,
} from "@reins/bridge";
import { z } from "zod";
import { expectFolder } from "../../files/folder-check.ts";
import { defineTool, type ToolContext } from "../tool.ts";
import { ToolError } from "../tool-error.ts";

const TIMEOUT_MS = 120_000;
const MAX_TEXT = 50 * 1024;
const SUMMARY_LENGTH = 200;

/** Has a child do something: a governed session of its own, which clients see from its first step to its last. */
export const spawnSubagent = defineTool({
  name: "spawn_subagent",
  description: "Starts another agent on a task and waits for what it says, for at most two minutes.",
  kind: "other",
  arguments: z.strictObject({
    prompt: z.string().min(1).describe("The task, with everything the other agent needs to know"),
    working_dir: z.string().min(1).optional().describe("Where it works; the working folder when absent"),
  }),
  title: ({ prompt }) => `Have a subagent: ${prompt}`,
  prepare: async ({ working_dir = "." }, { roots }) => ({ locations: [await roots.resolve(working_dir)] }),
  async perform({ prompt, working_dir = "." }, context) {
    const { services, roots, sessionId, signal } = context;
    const { subagents } = services;
    if (!subagents) throw new ToolError("failed", "no subagents can be started here");
    const workingDir = await roots.resolve(working_dir);
    await expectFolder(workingDir, working_dir);
    const worker = new ShownWorker(prompt, context);
    const time = AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]);
    try {
      const task = {
        sessionId,
        prompt,
        workingDir,
        onProgress: (
          details: WorkerDetails,
          event: "WorkerProgressed" | "WorkerWaitingForInput" = "WorkerProgressed",
        ) => worker.show(event, details),
      };
      const text = await subagents.run(task, time);
      worker.show("WorkerCompleted", { summary: text.slice(0, SUMMARY_LENGTH) });
      return { text: text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}\n[cut here]` : text };
    } catch (error) {
      const why = error instanceof Error ? error.message : String(error);
      worker.show(signal.aborted ? "WorkerCancelled" : "WorkerFailed", { error: why });
      signal.throwIfAborted();
      if (time.aborted)
        throw new ToolError("failed", "the subagent took longer than two minutes and was ended");
      throw new ToolError("failed", `the subagent failed: ${why}`, { cause: error });
    } finally {
      await worker.shown;
    }
  },
});

/** A worker whose every step is shown, in order. */
class ShownWorker {
  #worker: Worker;
  #shown: Promise<void>;
  readonly #context: ToolContext;

  constructor(task: string, context: ToolContext) {
    this.#context = context;
    this.#worker = spawnWorker({
      id: `worker_${context.newId()}`,
      name: "subagent",
      task,
      mode: "sub_agent",
      audit: { parent_session_id: context.sessionId },
      at: context.clock.now().toISOString(),
    });
    this.#shown = context.onWorker(workerUpdate(this.#worker));
  }

  /** Settles when everything so far has been shown. */
  get shown(): Promise<void> {
    return this.#shown;
  }

  show(event: Exclude<WorkerEvent, "WorkerSpawned">, details: WorkerDetails): void {
    // What comes after its end, as from a child that was given up, changes nothing.
    if (isTerminal(this.#worker)) return;
    this.#worker = advanceWorker(this.#worker, event, this.#context.clock.now().toISOString(), details);
    const update = workerUpdate(this.#worker);
    this.#shown = this.#shown.then(() => this.#context.onWorker(update));
  }
}
