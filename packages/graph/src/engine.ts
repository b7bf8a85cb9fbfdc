/**
 * The durable context in which one run is orchestrated. After a crash the orchestration starts again from its input, and
 * everything below returns what it returned before: a step that was stored is not executed again. Names are unique
 * within a run; orchestration must depend on nothing else that changes.
 */
export interface RunScope {
  readonly run: string;
  /** Aborts when the run is cancelled. Not when the process stops: then the run is continued later. */
  readonly signal: AbortSignal;
  /**
   * Executes an effect and stores its result before it is returned. After a crash between the two it is executed again,
   * with the same idempotency key. A rejection is not stored.
   */
  step<Result>(name: string, effect: (key: string) => Promise<Result>): Promise<Result>;
  /**
   * Returns the value of the first call under a name: what the orchestration chose, where another order of events might
   * have made it choose otherwise. Stored before the result of any later step.
   */
  choose<Value>(name: string, value: Value): Promise<Value>;
  /** Waits until a time after the first call; a crash does not start it anew. */
  sleep(name: string, milliseconds: number): Promise<void>;
  /** Waits for a value that is sent to the run under a name; resolves to the first. */
  receive(name: string): Promise<unknown>;
  /** The time of the first call, in milliseconds since 1970. */
  now(name: string): Promise<number>;
}

/** What a run does: from its input to its result, by its scope alone. */
export type Orchestration<Input, Result> = (input: Input, scope: RunScope) => Promise<Result>;

/** How a run of an engine stands. */
export type EngineRun<Result> =
  | { readonly state: "running" }
  | { readonly state: "ended"; readonly result: Result }
  | { readonly state: "failed"; readonly error: string };

/** Runs orchestrations. One that is durable continues them after any kind of stop. */
export interface RunEngine<Input, Result> {
  /** Starts a run under an id of its own; resolves when that is stored. Starting it again changes nothing. */
  start(run: string, input: Input): Promise<void>;
  /** Sends a value to a run, for the orchestration to receive under a name; the first one counts. False for no such run. */
  send(run: string, name: string, value: unknown): Promise<boolean>;
  /** Cancels a run: its signal aborts, and it ends by itself. False for no such run. */
  cancel(run: string): Promise<boolean>;
  /** How a run stands; `undefined` for no such run. */
  find(run: string): Promise<EngineRun<Result> | undefined>;
  /** Resolves when a run has ended. */
  ended(run: string): Promise<Result>;
  /** Continues the runs that an earlier process left. */
  resume(): Promise<void>;
  /** Stops; runs that are under way are continued by the next {@link resume}. */
  close(): Promise<void>;
}
