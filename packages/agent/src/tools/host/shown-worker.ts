import {
  advanceWorker,
  isTerminal,
  spawnWorker,
  type Worker,
  type WorkerDetails,
  type WorkerEvent,
  workerUpdate,
} from "@reins/bridge";
import type { ToolContext } from "../tool.ts";

/** A worker whose every step is shown, in order. */
export class ShownWorker {
  readonly #context: Pick<ToolContext, "onWorker" | "clock">;
  #worker: Worker;
  #shown: Promise<void>;

  /** `parent` is what clients call the session that has it done. */
  constructor(
    context: Pick<ToolContext, "onWorker" | "clock" | "newId">,
    { name, task, parent }: { readonly name: string; readonly task: string; readonly parent: string },
  ) {
    this.#context = context;
    this.#worker = spawnWorker({
      id: `worker_${context.newId()}`,
      name,
      task,
      mode: "sub_agent",
      audit: { parent_session_id: parent },
      at: context.clock.now().toISOString(),
    });
    this.#shown = heard(context.onWorker(workerUpdate(this.#worker)));
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
    this.#shown = heard(this.#shown.then(() => this.#context.onWorker(update)));
  }
}

/** A promise whose failure is heard by whoever waits for it in the end, and until then by nobody. */
function heard(shown: Promise<void>): Promise<void> {
  shown.catch(() => undefined);
  return shown;
}
