import { randomBytes } from "node:crypto";
import { join } from "node:path";
import type { AgentEntry, Catalogue } from "@reins/agents";
import {
  type ActionState,
  type AttemptRequest,
  assertNoConflict,
  type Carried,
  type Control,
  type Expanded,
  type ExpandRange,
  expandText,
  type Graph,
  type GraphAction,
  graphOfDeclaration,
  type Handoff,
  hasEnded,
  JournalEngine,
  MOST_ACTIONS,
  type ProjectedRun,
  ProtocolError,
  type Reference,
  type RunRecord,
  type RunResult,
  type RunScope,
  readReference,
  runGraph,
  sendControl,
  withReferences,
  writesOf,
} from "@reins/graph";
import { isRecord, settlesWithin } from "@reins/kit";
import { ArtifactStore } from "@reins/ledger";
import { change } from "@reins/store";
import { type Harness, type Principal, SupervisorError } from "@reins/supervisor";
import type { AgentHost } from "../hosting/agent-host.ts";
import type { Hub } from "../hub/hub.ts";
import type { Subagents } from "../native/subagents.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import type { Messaging } from "../turn/messaging.ts";
import { agentExecutors, boundedTurn } from "./agent-executors.ts";
import {
  type PipelineSettings,
  pipelineExecutors,
  type ServiceSettings,
  serviceExecutors,
} from "./configured-executors.ts";
import type { ActionCall, RunExecutor } from "./executor.ts";
import { type DeclaredRun, GraphRun, type RunProgress, runKey } from "./graph-run.ts";
import { allowedName, attemptAction, type EarlierAttempt } from "./perform-action.ts";
import { RecordedJournal } from "./recorded-journal.ts";
import { maySee, References } from "./references.ts";
import { checkInput, ExecutorRegistry } from "./registry.ts";
import { NATIVE_AGENT, type RunPlace, RunPlaces } from "./run-place.ts";
import { graphIn, isControl, type RunRequest, rawOf, readRequest, translated } from "./run-request.ts";
import { humanExecutors, runtimeExecutors } from "./runtime-executors.ts";
import { RunDisplay } from "./show-run.ts";
import { declaredRunTables, type StoredDeclaredRun } from "./tables.ts";

export interface GraphRunsOptions {
  readonly harness: Harness;
  readonly catalogue: Catalogue;
  /** Where sessions live, once that is open. */
  readonly hub: Promise<Hub>;
  readonly host: () => AgentHost;
  readonly subagents: Subagents;
  /** Whether an agent is installed: only those that are can be given work. */
  readonly isInstalled: (entry: AgentEntry) => Promise<boolean>;
  readonly messaging?: Messaging | undefined;
  readonly settings?: GraphSettings | undefined;
  /** Receives errors of background work. */
  readonly onError: (error: unknown) => void;
}

/** What an operator configures for action graphs. */
export interface GraphSettings {
  readonly pipelines?: Readonly<Record<string, PipelineSettings>> | undefined;
  readonly services?: Readonly<Record<string, ServiceSettings>> | undefined;
  /** The most actions of a run that are executed at once. */
  readonly parallel?: number | undefined;
}

/** What a declaration that was read is run with. */
export interface RunOrigin {
  readonly run_id?: string | undefined;
  readonly session: SessionRecord;
  readonly principal: Principal;
  readonly declaration: string;
  readonly carrier: RunRecord["carrier"];
  readonly violations: readonly string[];
  readonly context: Readonly<Record<string, unknown>>;
  /** The turn that the transcript of its session gets with it. */
  readonly turnOf?: (run: string) => string;
}

interface RunKey {
  readonly tenant: string;
  readonly run: string;
}

/** What of a result a model is shown that its summary does not say. */
const NEEDS_OUTPUT: ReadonlySet<string> = new Set(["structured", "excerpt", "full", "adaptive"]);
/** The most actions of a run that are executed at once. */
const PARALLEL = 8;
/** The longest summary in a handoff, in characters. */
const LONGEST_SUMMARY = 20_000;
/** The most that an action is given by its references, in characters: results of results grow without bound. */
const LONGEST_INPUT = 4 << 20;
/** How long changes of a run are gathered before they are stored. */
const GATHER_MS = 50;
/** How long effects that are under way may take when Reins stops. */
const GRACE_MS = 2_000;

/**
 * Runs of action graphs: each belongs to a session, whose principal, folders, rules and clients it has. Each attempt at an
 * action is decided, performed and recorded; a durable run continues after any stop.
 */
export class GraphRuns {
  readonly #options: GraphRunsOptions;
  readonly #places: RunPlaces;
  readonly #artifacts: ArtifactStore;
  readonly #references: References;
  readonly #journal: RecordedJournal<RunKey, RunResult>;
  readonly #engine: JournalEngine<RunKey, RunResult>;
  /** The runs that are not over, by key. */
  readonly #active = new Map<string, GraphRun>();
  readonly #registries = new Map<string, Promise<{ registry: ExecutorRegistry; release: () => void }>>();
  readonly #listeners = new Set<(run: GraphRun, action: string | undefined) => void>();
  readonly #unstored = new Set<GraphRun>();
  readonly #display: RunDisplay;
  readonly #stop = new AbortController();
  /** Effects that are under way. */
  readonly #performing = new Set<Promise<unknown>>();
  #cancelFlush: (() => void) | undefined;
  #unwatch: (() => void) | undefined;

  constructor(options: GraphRunsOptions) {
    this.#options = options;
    const { harness } = options;
    this.#places = new RunPlaces({ ...options, hub: () => options.hub });
    this.#display = new RunDisplay(options);
    this.#artifacts = new ArtifactStore(join(harness.home, "artifacts"));
    const find = (tenant: string, run: string) => this.#find(tenant, run);
    this.#references = new References({ artifacts: this.#artifacts, find });
    const isDurable = (run: string) => this.#active.get(run)?.graph.isDurable ?? true;
    this.#journal = new RecordedJournal(harness, isDurable);
    const orchestrate = (key: RunKey, scope: RunScope) => this.#orchestrate(key, scope);
    this.#engine = new JournalEngine({ orchestrate, journal: this.#journal });
  }

  /** Continues the durable runs of an earlier process; others have failed with it. */
  async resume(): Promise<void> {
    const { harness } = this.#options;
    const hub = await this.#options.hub;
    this.#unwatch = hub.watch(({ id, tenant, ended }) => {
      if (ended) this.#sessionEnded(tenant, id);
    });
    for (const stored of await harness.store.query(declaredRunTables, "open", null)) {
      const run = this.#read(stored);
      if (run.graph.isPlan) continue;
      if (run.graph.isDurable) this.#active.set(run.key, run);
      else await this.#interrupted(run);
    }
    const declared = [...this.#active.values()];
    await this.#engine.resume();
    // A process that ended before it wrote the journal of a run began nothing of it.
    for (const {
      key,
      id,
      declared: { tenant },
    } of declared)
      await this.#engine.start(key, { tenant, run: id });
  }

  /** Calls a listener for every change of a run; returns `unsubscribe`. */
  subscribe(listener: (run: GraphRun, action: string | undefined) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Validates a graph and runs it, or shows it where it is a plan. Other intents are applied to the run they name. */
  async start(principal: Principal, request: RunRequest): Promise<ProjectedRun> {
    return translated(async () => {
      const known = request.run_id === undefined ? undefined : await this.#repeated(principal, request);
      if (known) return this.#shown(known);
      const carried = readRequest(request);
      if (carried.kind === "declaration" && isControl(carried.declaration.intent))
        return this.#shown(await this.control(principal, carried));
      // What is wrong by itself begins no session.
      graphIn(carried);
      const session = await this.#sessionFor(principal, request);
      const owner = await this.#ownerOf(session);
      const declaring = this.declare(carried, {
        ...{ session, principal: owner, declaration: rawOf(request, carried), carrier: "api" },
        violations: "violations" in carried ? carried.violations.map(({ detail }) => detail) : [],
        context: request.context ?? {},
        run_id: request.run_id,
      });
      return this.#shown(await declaring.catch((error: unknown) => this.#unused(request, session, error)));
    });
  }

  /** A run that a principal may see. */
  async get(principal: Principal, id: string): Promise<ProjectedRun> {
    return this.#shown(await this.#expect(principal, id));
  }

  /** The newest runs that a principal may see, or those of one session. */
  async list(principal: Principal, session?: string): Promise<readonly ProjectedRun[]> {
    const { tenant } = principal;
    const range = { tenant, session, limit: 1_000 };
    const stored = await this.#options.harness.store.query(declaredRunTables, "list", range);
    const runs = stored.map((one) => this.#read(one));
    return runs
      .map((run) => this.#active.get(run.key) ?? run)
      .filter((run) => maySee(principal, run))
      .map((run) => this.#shown(run));
  }

  /** Cancels a run, or some of its actions. */
  async cancel(principal: Principal, id: string, actions?: readonly string[]): Promise<ProjectedRun> {
    return translated(async () =>
      this.#shown(await this.cancelRun(await this.#expect(principal, id), actions)),
    );
  }

  /** Decides what becomes of an action that failed or was blocked. It answers no approval. */
  async decide(
    principal: Principal,
    id: string,
    {
      action,
      decision,
    }: { action: string; decision: "retry" | "continue" | "abort"; note?: string | undefined },
  ): Promise<ProjectedRun> {
    return translated(async () =>
      this.#shown(await this.decideRun(await this.#expect(principal, id), action, decision)),
    );
  }

  /** A stored output of a run, or a part of it, without secrets. */
  async expand(
    principal: Principal,
    id: string,
    ref: string,
    range: ExpandRange,
  ): Promise<Expanded & { readonly ref: string }> {
    return translated(async () => {
      const run = await this.#expect(principal, id);
      const text = await this.expandIn(run, ref, "user");
      return { ref, ...expandText(String(this.#options.harness.redact(text)), { range }) };
    });
  }

  /** What a reference leads to, for a person or a model that may see a run. */
  async expandIn(run: GraphRun, ref: string, audience: "user" | "model"): Promise<string> {
    const reference = readReference(ref);
    if (reference.kind === "action") {
      const { action, part } = reference;
      return this.#references.stored(run, { kind: "run", run: run.id, action, part }, audience);
    }
    if (reference.kind !== "run" && reference.kind !== "artifact")
      throw new ProtocolError("reference", `${ref} is not a stored result`);
    const { tenant, principal } = run.declared;
    const isOwn = reference.run === undefined || reference.run === run.id;
    const found = isOwn ? run : await this.#references.expectVisible(principal, tenant, reference.run ?? "");
    return this.#references.stored(found, reference, audience);
  }

  /** Runs what a model declared: the caller has read it. Throws a {@link ProtocolError} before anything runs. */
  async declare(carried: Carried, origin: RunOrigin): Promise<GraphRun> {
    const graph = graphIn(carried);
    const { session, principal } = origin;
    const run_id = origin.run_id ?? newRunId();
    const declared: DeclaredRun = {
      ...{ run_id, tenant: session.tenant, session: session.id, principal, graph },
      ...{ declaration: origin.declaration, carrier: origin.carrier, violations: origin.violations },
      context: origin.context,
      started_at: this.#now(),
    };
    const run = new GraphRun(declared, (one, action) => this.#changed(one, action));
    await this.#validate(run);
    const turn = origin.turnOf?.(run_id);
    const [isNew] = await this.#options.harness.store.commit(
      [
        change(declaredRunTables, "create", {
          ...{ tenant: session.tenant, run: run_id, session: session.id },
          declared: JSON.stringify(declared),
          state: JSON.stringify(run.progress),
        }),
        ...(turn === undefined
          ? []
          : [change(declaredRunTables, "turn", { tenant: session.tenant, session: session.id, turn })]),
      ],
      { durable: graph.isDurable },
    );
    if (!isNew) throw new ProtocolError("state", `there is a run ${run_id} already`);
    await this.#display.begin(run);
    if (graph.isPlan || graph.actions.length === 0) {
      run.end(graph.isPlan ? "pending" : "completed", this.#now());
      await this.#flush();
      return run;
    }
    this.#active.set(run.key, run);
    await this.#engine.start(run.key, { tenant: session.tenant, run: run_id });
    return run;
  }

  async cancelRun(run: GraphRun, actions?: readonly string[]): Promise<GraphRun> {
    if (run.isOver) throw new ProtocolError("state", `the run ${run.id} is over`);
    if (run.graph.isPlan || !this.#active.has(run.key)) {
      run.end("canceled", this.#now(), "it was canceled");
      await this.#flush();
      return run;
    }
    if (actions && actions.length > 0) {
      for (const id of actions)
        if (!run.action(id)) throw new ProtocolError("state", `run ${run.id} has no action ${id}`);
      await this.#send(run, { kind: "cancel", actions, reason: "it was canceled" });
      return run;
    }
    await this.#engine.cancel(run.key);
    await this.#engine.ended(run.key).catch(() => undefined);
    return run;
  }

  async decideRun(
    run: GraphRun,
    action: string,
    decision: "retry" | "continue" | "abort",
  ): Promise<GraphRun> {
    const status = run.states.get(action)?.status;
    if (!run.action(action)) throw new ProtocolError("state", `run ${run.id} has no action ${action}`);
    if (status !== "failed" && status !== "blocked")
      throw new ProtocolError("state", `${action} is ${status ?? "pending"}: there is nothing to decide`);
    const { status: stands } = run.standing;
    if (run.isOver && stands !== "failed" && stands !== "blocked")
      throw new ProtocolError("state", `the run ${run.id} is ${stands}: there is nothing to decide`);
    if (run.isOver && decision === "abort") return run;
    if (decision === "retry" && status === "failed" && run.action(action)?.idempotency === "once")
      throw new ProtocolError("state", `${action} is declared to be done once: it is not tried again`);
    const attempts = run.states.get(action)?.attempts;
    return this.#send(run, { kind: "decide", action, decision, attempts });
  }

  /** Replaces the actions of a run that are neither running nor completed. One that failed or is blocked continues. */
  async reviseRun(run: GraphRun, graph: Graph): Promise<GraphRun> {
    const { status } = run.standing;
    if (run.isOver && status !== "failed" && status !== "blocked")
      throw new ProtocolError("state", `the run ${run.id} is ${status}: there is nothing to revise`);
    const sections = [...run.graph.sections, ...graph.sections];
    const known = run.graph.actions.filter(({ id }) => !graph.actions.some((one) => one.id === id));
    const all = { ...run.graph, sections, actions: [...known, ...graph.actions] };
    if (all.actions.length > MOST_ACTIONS)
      throw new ProtocolError("graph", `with this revision the run has more than ${MOST_ACTIONS} actions`);
    await this.#validate(new GraphRun({ ...run.declared, graph: all }, () => undefined), graph.actions);
    return this.#send(run, { kind: "revise", graph: { ...graph, sections } });
  }

  /** Resolves when a run is over, or stands where the model decides. */
  decisionPoint(run: GraphRun, signal: AbortSignal): Promise<void> {
    if (run.callsModel) return Promise.resolve();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const unsubscribe = this.subscribe((changed) => {
      if (changed.key === run.key && changed.callsModel) resolve();
    });
    const abort = () => reject(signal.reason);
    signal.addEventListener("abort", abort, { once: true });
    return promise.finally(() => {
      unsubscribe();
      signal.removeEventListener("abort", abort);
    });
  }

  /** How the actions of a run stand, with outputs as far as a model is to see more of them than a summary. */
  async statesWithOutputs(run: GraphRun): Promise<readonly ActionState[]> {
    return Promise.all(
      run.graph.actions.flatMap(({ id, result: { return_to_model } }) => {
        const state = run.states.get(id);
        if (!state) return [];
        const { artifact } = run.details(id);
        const isKnown = !state.result || state.result.output !== null || !NEEDS_OUTPUT.has(return_to_model);
        return [isKnown || !artifact ? state : this.#withOutput(state, artifact.digest)];
      }),
    );
  }

  async #withOutput(state: ActionState, digest: string): Promise<ActionState> {
    const bytes = await this.#artifacts.get(digest);
    if (!bytes || !state.result) return state;
    return { ...state, result: { ...state.result, output: Buffer.from(bytes).toString("utf8") } };
  }

  /** The run of an id in a tenant; `undefined` for none. */
  find(tenant: string, id: string): Promise<GraphRun | undefined> {
    return this.#find(tenant, id);
  }

  /** The executors that a session may use. */
  async executorsIn(session: SessionRecord): Promise<{
    readonly registry: ExecutorRegistry;
    readonly allowed: readonly RunExecutor[];
    readonly principal: Principal;
  }> {
    const principal = await this.#ownerOf(session);
    const key = `${session.tenant}//${session.id}`;
    const place = await this.#places.ofSession(
      { tenant: session.tenant, session: session.id, principal },
      key,
    );
    const { registry } = await this.#registry(key, place);
    return { registry, allowed: registry.allowedIn(place), principal };
  }

  /** Stops: effects that are under way have a moment to end, and durable runs are continued by the next process. */
  async close(): Promise<void> {
    this.#unwatch?.();
    const ending = Promise.allSettled(this.#performing);
    // What waits for a person is not waited for.
    const isBusy = [...this.#active.values()].some(({ states }) =>
      [...states.values()].some(({ status }) => status === "running"),
    );
    if (isBusy) await settlesWithin(ending, GRACE_MS);
    this.#stop.abort(new Error("Reins is stopping"));
    await this.#engine.close();
    this.#display.close();
    await this.#flush().catch(this.#options.onError);
    for (const { release } of await Promise.all(this.#registries.values())) release();
    const writing = [...this.#active.values()].flatMap((run) => [...run.writing]);
    await Promise.allSettled(writing);
  }

  async #orchestrate({ tenant, run: id }: RunKey, scope: RunScope): Promise<RunResult> {
    const run = this.#active.get(runKey(tenant, id)) ?? (await this.#find(tenant, id));
    if (!run) throw new Error(`there is no run ${id}`);
    this.#active.set(run.key, run);
    const earlier = (await this.#journal.load(run.key))?.entries ?? new Map<string, unknown>();
    if (run.isOver) run.reopen();
    const writes = await this.#writer(run);
    const result = await runGraph(run.declared.graph, scope, {
      parallel: this.#options.settings?.parallel ?? PARALLEL,
      writesOf: writes,
      attempt: (request) => this.#attempt(run, request, scope, earlier),
      onChange: (changed) => {
        if (this.#stop.signal.aborted) return;
        if ("action" in changed) run.change(changed.action, this.#now());
        else if ("graph" in changed) run.revise(changed.graph);
        else run.stand(changed);
      },
    });
    if (this.#stop.signal.aborted) return result;
    await Promise.allSettled(run.writing);
    run.end(result.status, this.#now(), result.reason);
    await this.#released(run);
    return result;
  }

  async #attempt(
    run: GraphRun,
    request: AttemptRequest,
    scope: RunScope,
    earlier: ReadonlyMap<string, unknown>,
  ) {
    const name = request.key.slice(run.key.length + 1);
    const stored = earlier.get(allowedName(name));
    const known: EarlierAttempt = isRecord(stored) ? { allowed: stored } : {};
    const signal = AbortSignal.any([request.signal, this.#stop.signal]);
    const attempt = attemptAction(run, { ...request, signal }, scope, known, {
      prepare: (one, asked) => this.#prepare(one, asked, scope),
      artifacts: this.#artifacts,
      journal: this.#journal,
      display: this.#display,
      isStopping: () => this.#stop.signal.aborted,
    });
    this.#performing.add(attempt);
    const over = () => this.#performing.delete(attempt);
    attempt.then(over, over);
    return attempt;
  }

  async #prepare(
    run: GraphRun,
    { action, states, key, waits }: AttemptRequest,
    scope: RunScope,
  ): Promise<{ readonly executor: RunExecutor; readonly call: ActionCall }> {
    const place = await this.#places.of(run, action.id);
    const { registry } = await this.#registry(run.key, place);
    const { executor, input } = registry.choose(action, place);
    let size = 0;
    const resolve = async (reference: Reference) => {
      const value = await this.#references.resolve(run, states, reference);
      size += textOf(value).length;
      if (size <= LONGEST_INPUT) return value;
      throw new ProtocolError("reference", `${action.id} refers to more than ${LONGEST_INPUT} characters`);
    };
    const expand = async (ref: string) => {
      const reference = readReference(ref);
      this.#references.expectShown(run, reference);
      return textOf(await resolve(reference));
    };
    const resolved = input && (await withReferences(input, resolve));
    const prompt = action.prompt && textOf(await resolve(action.prompt));
    const context = await Promise.all(action.context.map(async (one) => textOf(await resolve(one))));
    const { attempts = 1 } = states.get(action.id) ?? {};
    return {
      executor,
      call: {
        ...{ run: run.id, action, place, prompt, context, key },
        input: isRecord(resolved) ? resolved : undefined,
        call: `${run.id}.${action.id}.${attempts}`,
        handoff: handoffTo(run, action, states, prompt),
        sleep: (milliseconds, signal) =>
          scope.sleep(`wait/${key.slice(run.key.length + 1)}`, milliseconds, signal),
        expand,
        note: (details) => run.note(action.id, details),
        waits,
      },
    };
  }

  /** Checks everything that can be known before anything runs. */
  async #validate(run: GraphRun, actions = run.graph.actions): Promise<void> {
    const { graph, principal, run_id } = run.declared;
    const place = await this.#places.ofSession(run.declared, run.key);
    if (place.record.ended) throw new ProtocolError("state", `the session ${place.id} has ended`);
    const { registry } = await this.#registry(run.key, place);
    for (const [index, action] of actions.entries()) {
      const { executor, input } = registry.choose(action, place);
      const path = `actions.${index}.input`;
      const references: Reference[] = [...action.context, ...(action.prompt ? [action.prompt] : [])];
      await withReferences(input ?? {}, async (reference) => {
        references.push(reference);
        return "";
      });
      const hasReferences = JSON.stringify(input ?? {}).includes('"$ref"');
      if (!hasReferences && (input || !action.prompt)) checkInput(executor, input, path);
      await this.#references.check(principal, references, run_id);
      for (const one of references)
        if (one.kind === "input") await this.#references.resolve(run, new Map(), one);
    }
    assertNoConflict(graph, (action) => writesIn(registry, action, place));
  }

  #registry(key: string, place: RunPlace) {
    const known = this.#registries.get(key) ?? this.#newRegistry(place);
    this.#registries.set(key, known);
    known.catch(() => this.#registries.delete(key));
    return known;
  }

  async #newRegistry(place: RunPlace): Promise<{ registry: ExecutorRegistry; release: () => void }> {
    const { messaging, subagents } = this.#options;
    // The tools of the native agent are loaded with the first run.
    const { toolExecutors, meantTool } = await import("./tool-executors.ts");
    let owned: ReturnType<AgentHost["commandsFor"]> | undefined;
    const commands = () => {
      const { workspace, identities, principal, session } = place;
      const { agent, id } = session.record;
      owned ??= this.#options
        .host()
        .commandsFor({ principal, agent, session: id }, { roots: workspace.roots, identities });
      return owned;
    };
    const tools = toolExecutors({
      place,
      messaging: messaging?.forTenant(place.session.record.tenant),
      commands: { run: async (command, signal) => (await commands()).commands.run(command, signal) },
    });
    const { pipelines = {}, services = {} } = this.#options.settings ?? {};
    const executors = [
      ...tools,
      ...(await this.#agents(subagents)),
      ...runtimeExecutors,
      ...humanExecutors,
      ...pipelineExecutors(pipelines, tools),
      ...serviceExecutors(services),
    ];
    const bounded = this.#options.host().hasModel
      ? (some: readonly RunExecutor[]) => boundedTurn(subagents, some)
      : undefined;
    return {
      registry: new ExecutorRegistry(executors, meantTool, bounded),
      release: () => void owned?.then(({ release }) => release()).catch(this.#options.onError),
    };
  }

  /** The agents that can be given work: those that are installed. */
  async #agents(subagents: Subagents): Promise<readonly RunExecutor[]> {
    const { catalogue, isInstalled } = this.#options;
    const found = await Promise.all(
      catalogue.entries.map(async (entry) => {
        if (entry.builtIn) return this.#options.host().hasModel ? entry : [];
        return entry.support.level !== "unsupported" && (await isInstalled(entry)) ? entry : [];
      }),
    );
    return agentExecutors(subagents, found.flat());
  }

  /** What the actions of a run write; the whole workspace where that is not known. */
  async #writer(run: GraphRun): Promise<(action: GraphAction) => readonly string[]> {
    try {
      const place = await this.#places.ofSession(run.declared, run.key);
      const { registry } = await this.#registry(run.key, place);
      return (action) => writesIn(registry, action, place);
    } catch {
      return () => ["*"];
    }
  }

  /** Sends a control to a run; one that has failed or is blocked continues with it. */
  async #send(run: GraphRun, control: Control): Promise<GraphRun> {
    const { status } = run.standing;
    const { reason, isOver: wasOver } = run;
    if (wasOver) {
      this.#active.set(run.key, run);
      run.reopen();
    }
    if (await sendControl(this.#engine, run.key, control)) return run;
    if (wasOver) run.end(status, this.#now(), reason);
    this.#active.delete(run.key);
    throw new ProtocolError("state", `the run ${run.id} is over`);
  }

  /** Applies a declaration about a run that a principal may see. */
  async control(
    principal: Principal,
    { declaration, sections }: Pick<Extract<Carried, { kind: "declaration" }>, "declaration" | "sections">,
  ): Promise<GraphRun> {
    switch (declaration.intent) {
      case "cancel": {
        const { run_id, actions } = declaration.payload;
        return this.cancelRun(await this.#expect(principal, run_id), actions);
      }
      case "decide": {
        const { run_id, action_id, decision } = declaration.payload;
        return this.decideRun(await this.#expect(principal, run_id), action_id, decision);
      }
      case "revise": {
        const run = await this.#expect(principal, declaration.payload.run_id);
        return this.reviseRun(run, graphOfDeclaration(declaration, sections, run.kept));
      }
      default:
        throw new ProtocolError("malformed", `the intent ${declaration.intent} starts no run`);
    }
  }

  /** The run that an earlier request of the same id started. */
  async #repeated(principal: Principal, request: RunRequest): Promise<GraphRun | undefined> {
    const run = await this.#find(principal.tenant, request.run_id ?? "");
    if (!run) return undefined;
    if (maySee(principal, run) && run.declared.declaration === rawOf(request, undefined)) return run;
    throw new SupervisorError("conflict", `there is a run ${request.run_id} already`);
  }

  async #sessionFor(principal: Principal, { session, cwd, agent = NATIVE_AGENT }: RunRequest) {
    const hub = await this.#options.hub;
    if (session !== undefined) return hub.sessions.expect(principal, session);
    const folder = cwd ?? (await this.#options.host().folders.defaultFor(principal));
    const connection = await hub.connect({ principal, agent });
    try {
      const params = { cwd: folder, mcpServers: [] };
      const { signal } = this.#stop;
      const started = await hub.request(connection, "session/new", params, signal);
      const id = isRecord(started) ? started.sessionId : undefined;
      return await hub.sessions.expect(principal, id);
    } finally {
      hub.disconnect(connection);
    }
  }

  /** Ends the session of a graph that was refused, if it was begun for it; rejects with the reason. */
  async #unused({ session: given }: RunRequest, session: SessionRecord, error: unknown): Promise<never> {
    if (given === undefined) {
      const hub = await this.#options.hub;
      await hub.terminate(await this.#ownerOf(session), session.id).catch(this.#options.onError);
    }
    throw error;
  }

  async #ownerOf({ principal: id }: SessionRecord): Promise<Principal> {
    const owner = await this.#options.harness.identity.current({ id });
    if (owner) return owner;
    throw new ProtocolError("forbidden", "the principal of the session is not valid any more");
  }

  async #expect(principal: Principal, id: string): Promise<GraphRun> {
    const run = await this.#find(principal.tenant, id);
    if (run && maySee(principal, run)) return run;
    throw new SupervisorError("not_found", `there is no run ${id}`);
  }

  async #find(tenant: string, run: string): Promise<GraphRun | undefined> {
    const active = this.#active.get(runKey(tenant, run));
    if (active) return active;
    const unstored = [...this.#unstored].find((one) => one.key === runKey(tenant, run));
    if (unstored) return unstored;
    const stored = await this.#options.harness.store.query(declaredRunTables, "get", { tenant, run });
    return this.#active.get(runKey(tenant, run)) ?? (stored && this.#read(stored));
  }

  /** A stored run. What is stored was written by this class. */
  #read({ declared, state }: StoredDeclaredRun): GraphRun {
    const progress: RunProgress = JSON.parse(state);
    return new GraphRun(JSON.parse(declared), (run, action) => this.#changed(run, action), progress);
  }

  #shown(run: GraphRun): ProjectedRun {
    // Redaction keeps the form of what it is given.
    return this.#options.harness.redact(run.project()) as ProjectedRun;
  }

  #changed(run: GraphRun, action: string | undefined): void {
    this.#display.changed(run);
    for (const listener of this.#listeners) {
      try {
        listener(run, action);
      } catch (error) {
        this.#options.onError(error);
      }
    }
    this.#unstored.add(run);
    const timer = setTimeout(() => this.#flush().catch(this.#options.onError), GATHER_MS);
    this.#cancelFlush?.();
    this.#cancelFlush = () => clearTimeout(timer);
  }

  /** Stores the runs that have changed. */
  async #flush(): Promise<void> {
    this.#cancelFlush?.();
    this.#cancelFlush = undefined;
    const runs = [...this.#unstored];
    if (runs.length === 0) return;
    const changes = runs.map((run) => {
      const { tenant, run_id, revised } = run.declared;
      const declared = revised ? JSON.stringify(run.declared) : null;
      const state = JSON.stringify(run.progress);
      return change(declaredRunTables, "update", {
        tenant,
        run: run_id,
        state,
        isOver: run.isOver,
        declared,
      });
    });
    const stored = this.#options.harness.store.commit(changes, { durable: false });
    await stored;
    for (const run of runs) this.#unstored.delete(run);
  }

  /** Lets go of what a run held. */
  async #released(run: GraphRun): Promise<void> {
    await this.#flush();
    this.#active.delete(run.key);
    this.#places.forget(run.key);
    const registry = this.#registries.get(run.key);
    this.#registries.delete(run.key);
    (await registry)?.release();
  }

  #sessionEnded(tenant: string, session: string): void {
    for (const run of this.#active.values())
      if (run.declared.tenant === tenant && run.declared.session === session)
        this.#engine.cancel(run.key).catch(this.#options.onError);
  }

  /** Ends a run that an earlier process left and that is not continued. */
  async #interrupted(run: GraphRun): Promise<void> {
    const reason = "Reins was restarted while it ran, and it was not durable";
    for (const state of run.states.values())
      if (!hasEnded(state.status)) run.change({ ...state, status: "canceled", reason }, this.#now());
    run.end("failed", this.#now(), reason);
    await this.#journal.end(run.key, { state: "failed", error: reason });
    const { approvals } = this.#options.harness;
    const { tenant, session } = run.declared;
    for (const { turn } of await approvals.list({ tenant, session, state: "pending", order: "oldest" }))
      if (turn?.startsWith(`${run.id}:`)) await approvals.withdraw({ tenant, session, turn }, reason);
    await this.#flush();
  }

  #now(): string {
    return new Date().toISOString();
  }
}

function newRunId(): string {
  return `run_${randomBytes(9).toString("base64url").replace(/[-_]/g, "x")}`;
}

function writesIn(registry: ExecutorRegistry, action: GraphAction, place: RunPlace): readonly string[] {
  try {
    return writesOf(action, registry.choose(action, place).executor);
  } catch {
    return ["*"];
  }
}

/** What the last agent before an action left to be continued. */
function handoffTo(
  run: GraphRun,
  action: GraphAction,
  states: ReadonlyMap<string, ActionState>,
  prompt: string | undefined,
): Handoff | undefined {
  const from = action.dependsOn.findLast((id) => run.details(id).executor?.type === "agent");
  const result = from === undefined ? undefined : states.get(from)?.result;
  if (from === undefined || !result) return undefined;
  const said = isRecord(result.output) ? result.output : {};
  const listed = (name: string) => {
    const list = said[name];
    return Array.isArray(list) ? list.filter((one) => typeof one === "string") : [];
  };
  return {
    from: { run: run.id, action: from, session: run.details(from).childSession },
    result_summary: result.summary.slice(0, LONGEST_SUMMARY),
    evidence: listed("evidence"),
    artifact_refs: [`artifact://${run.id}/${from}`, ...listed("artifact_refs")],
    risks: listed("risks"),
    unresolved_issues: listed("unresolved_issues"),
    next_goal: (prompt ?? action.description ?? action.title).slice(0, LONGEST_SUMMARY),
    constraints: action.writes ? [`Write nothing but ${action.writes.join(", ") || "nothing"}.`] : [],
    dependencies: [...action.dependsOn],
  };
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}
