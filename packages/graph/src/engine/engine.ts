/**
 * The durable context in which one run is orchestrated. After a crash the orchestration starts again from its input, and
 * everything below returns what it returned before: a step that was stored is not executed again. Names are unique
 * within a run; orchestration must depend on nothing else that changes.
 */
export interface RunScope<Input = never, Result = unknown> {
  readonly run: string;
  /** Aborts when the run is cancelled. Not when the process stops: then the run is continued later. */
  readonly signal: AbortSignal;
  /**
   * Executes an effect and stores its result before it is returned. After a crash between the two it is executed again,
   * with the same idempotency key. A rejection is not stored.
   */
  step<Value>(name: string, effect: (key: string) => Promise<Value>): Promise<Value>;
  /**
   * Returns what the first call under a name chose, where another order of events might have made it choose otherwise.
   * Only where nothing is stored yet is the choice made. Stored before the result of any later step.
   */
  choose<Value>(name: string, choice: () => Value | Promise<Value>): Promise<Value>;
  /** Waits until a time after the first call; a crash does not start it anew. Ends early when the signal aborts. */
  sleep(name: string, milliseconds: number, signal?: AbortSignal): Promise<void>;
  /** Waits for the next value that is sent to the run under a name; each is received once, in the order of sending. */
  receive(name: string): Promise<unknown>;
  /** Whether {@link receive} would return at once. A run may end on its account: what is sent later reopens it. */
  hasReceived(name: string): boolean;
  /** Waits until {@link receive} would return at once, and receives nothing. */
  available(name: string): Promise<void>;
  /** Starts a run of the same orchestration as a child of this one, once; returns its id. A cancel reaches it too. */
  spawn(name: string, input: Input): Promise<string>;
  /** Waits for the end of a child. */
  join(name: string): Promise<EngineEnd<Result>>;
  /** The time of the first call, in milliseconds since 1970. */
  now(name: string): Promise<number>;
  /** A new id, stored before it is returned. */
  id(name: string): Promise<string>;
}

/** What a run does: from its input to its result, by its scope alone. */
export type Orchestration<Input, Result> = (input: Input, scope: RunScope<Input, Result>) => Promise<Result>;

/** How a run of an engine ended. */
export type EngineEnd<Result> =
  | { readonly state: "ended"; readonly result: Result }
  | { readonly state: "failed"; readonly error: string };

/** How a run of an engine stands. */
export type EngineRun<Result> = { readonly state: "running" } | EngineEnd<Result>;

/** Runs orchestrations. One that is durable continues them after any kind of stop. */
export interface RunEngine<Input, Result> {
  /** Starts a run under an id of its own; resolves when that is stored. Starting it again changes nothing. */
  start(run: string, input: Input): Promise<void>;
  /**
   * Sends a value to a run, for the orchestration to receive under a name. Where it waits for that, it has gone on, up to the
   * next that it waits for, before this resolves: its caller sees what follows. A run that has ended is reopened if asked for:
   * it takes the same course as before, to where it ended, and then has received one value more. False for no such run,
   * one that has ended and is not to be reopened, and one that was cancelled.
   */
  send(run: string, name: string, value: unknown, options?: { readonly reopen?: boolean }): Promise<boolean>;
  /** Cancels a run and its children: their signals abort, and they end by themselves. False for none under way. */
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
