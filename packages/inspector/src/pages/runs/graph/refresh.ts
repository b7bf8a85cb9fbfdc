import { runOperations } from "@reins/api";
import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { subscribe } from "../../../api/stream.ts";

const PAUSE_MS = 250;

/**
 * Runs a task after it was requested, one at a time and with a pause in between. Requests while it runs or pauses
 * become one more run, so that the last change is never missed.
 */
export class Refresher {
  readonly #task: () => Promise<unknown>;
  readonly #wait: (milliseconds: number) => Promise<void>;
  #isWanted = false;
  #isRunning = false;

  constructor(task: () => Promise<unknown>, wait = pause) {
    this.#task = task;
    this.#wait = wait;
  }

  /** Requests a run of the task. */
  request(): void {
    this.#isWanted = true;
    if (!this.#isRunning) void this.#run();
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#isWanted) {
      this.#isWanted = false;
      await this.#task();
      await this.#wait(PAUSE_MS);
    }
    this.#isRunning = false;
  }
}

/** Fetches a run and its graph again whenever an event of it arrives. */
export function useRunRefresh(id: string): void {
  const queries = useQueryClient();
  useEffect(() => {
    const refresher = new Refresher(() => queries.invalidateQueries({ queryKey: ["runs", id] }));
    const refresh = () => refresher.request();
    // Events during a lost connection are missing, so that a new one refreshes too.
    return subscribe(
      runOperations.streamRuns,
      { query: { run: id } },
      { onEvent: refresh, onState: (isOpen) => isOpen && refresh() },
    );
  }, [queries, id]);
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
