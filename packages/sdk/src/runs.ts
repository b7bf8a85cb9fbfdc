import type { Run, RunEvent, RunGraph, StartRun } from "@reins/api";
import type { z } from "zod";
import type { Abortable, Http } from "./http.ts";

/** Which runs to list or follow. */
export interface RunFilter extends Abortable {
  readonly session?: string | undefined;
}

/** Part of a stored output. */
export interface ExpandOptions extends Abortable {
  readonly from_line?: number | undefined;
  readonly to_line?: number | undefined;
  /** Only lines around those that contain this text. */
  readonly match?: string | undefined;
}

const load = () => import("./run-operations.ts");

/** Runs of agents, and of the action graphs that models declare. */
export class RunsClient {
  readonly #http: Http;

  constructor(http: Http) {
    this.#http = http;
  }

  /** Lists the newest runs. */
  async list({ signal, ...query }: RunFilter = {}): Promise<readonly Run[]> {
    const { runOperations } = await load();
    return (await this.#http.call(runOperations.listRuns, { query, signal })).runs;
  }

  async get(id: string, { signal }: Abortable = {}): Promise<Run> {
    const { runOperations } = await load();
    return this.#http.call(runOperations.getRun, { params: { id }, signal });
  }

  /** Subscribes to the events of runs, until the signal. With `after: 0` it begins with the first that is stored. */
  async *follow({
    signal,
    after,
    ...query
  }: RunFilter & {
    readonly run?: string | undefined;
    readonly after?: number | undefined;
  } = {}): AsyncGenerator<z.infer<typeof RunEvent>> {
    const { runOperations } = await load();
    yield* this.#http.follow(runOperations.streamRuns, { query, after: after?.toString(), signal });
  }

  /** Validates a graph of actions and runs it, each action under a verdict of its own. */
  async start(run: StartRun, { signal }: Abortable = {}): Promise<RunGraph> {
    const { graphOperations } = await load();
    return this.#http.call(graphOperations.startRun, { body: run, signal });
  }

  /** Returns the graph of a run and the status of each action. */
  async graph(id: string, { signal }: Abortable = {}): Promise<RunGraph> {
    const { graphOperations } = await load();
    return this.#http.call(graphOperations.getRunGraph, { params: { id }, signal });
  }

  /** Cancels a run, or some of its actions. */
  async cancel(
    id: string,
    { signal, actions }: Abortable & { readonly actions?: string[] } = {},
  ): Promise<RunGraph> {
    const { graphOperations } = await load();
    return this.#http.call(graphOperations.cancelRun, { params: { id }, body: { actions }, signal });
  }

  /** Decides what becomes of an action that failed or was blocked. */
  async decide(
    id: string,
    action: string,
    decision: "retry" | "continue" | "abort",
    { signal, note }: Abortable & { readonly note?: string } = {},
  ): Promise<RunGraph> {
    const { graphOperations } = await load();
    return this.#http.call(graphOperations.decideRun, {
      params: { id },
      body: { action, decision, note },
      signal,
    });
  }

  /** Returns a stored output of a run, or a part of it. */
  async expand(id: string, ref: string, { signal, ...part }: ExpandOptions = {}): Promise<string> {
    const { graphOperations } = await load();
    const body = { ref, ...part };
    return (await this.#http.call(graphOperations.expandRunRef, { params: { id }, body, signal })).text;
  }
}
