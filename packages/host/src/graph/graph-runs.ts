import { randomBytes } from "node:crypto";
import { join } from "node:path";
import {
  type ActionState,
  type Carried,
  type Expanded,
  type ExpandRange,
  expandText,
  type Graph,
  graphOfDeclaration,
  MOST_ACTIONS,
  type ProjectedRun,
  ProtocolError,
  type RunRecord,
} from "@reins/graph";
import { isRecord } from "@reins/kit";
import { ArtifactStore } from "@reins/ledger";
import { type Harness, type Principal, SupervisorError } from "@reins/supervisor";
import type { Hub } from "../hub/hub.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import type { PipelineSettings, ServiceSettings } from "./configured-executors.ts";
import type { RunExecutor } from "./executor.ts";
import { GraphRun, type GraphRunListener } from "./graph-run.ts";
import { ActionPreparation } from "./prepare-action.ts";
import { maySee, References } from "./references.ts";
import type { ExecutorRegistry } from "./registry.ts";
import { RunExecutors, type RunExecutorsOptions } from "./run-executors.ts";
import { RunOrchestrator } from "./run-orchestrator.ts";
import { NATIVE_AGENT, RunPlaces } from "./run-place.ts";
import { graphIn, isControl, type RunRequest, rawOf, readRequest, translated } from "./run-request.ts";
import { RunStore } from "./run-store.ts";
import { RunDisplay } from "./show-run.ts";

export interface GraphRunsOptions extends Omit<RunExecutorsOptions, "pipelines" | "services"> {
  readonly harness: Harness;
  /** Where sessions live, once that is open. */
  readonly hub: Promise<Hub>;
  readonly settings?: GraphSettings | undefined;
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

/**
 * Runs of action graphs: each belongs to a session, whose principal, folders, rules and clients it has. Each attempt at an
 * action is decided, performed and recorded; a durable run continues after any stop.
 */
export class GraphRuns {
  readonly #options: GraphRunsOptions;
  readonly #places: RunPlaces;
  readonly #executors: RunExecutors;
  readonly #references: References;
  readonly #preparation: ActionPreparation;
  readonly #display: RunDisplay;
  readonly #store: RunStore;
  readonly #orchestrator: RunOrchestrator;
  #unwatch: (() => void) | undefined;

  constructor(options: GraphRunsOptions) {
    this.#options = options;
    const { harness, onError, settings } = options;
    const display = new RunDisplay(options);
    const artifacts = new ArtifactStore(join(harness.home, "artifacts"));
    const store = new RunStore({ harness, onError, onChange: (run) => display.changed(run) });
    const places = new RunPlaces({ ...options, hub: () => options.hub });
    const executors = new RunExecutors({ ...options, ...settings });
    const references = new References({ artifacts, find: (tenant, run) => store.find(tenant, run) });
    const preparation = new ActionPreparation({ places, executors, references });
    this.#orchestrator = new RunOrchestrator({
      ...{ harness, store, preparation, display, artifacts, parallel: settings?.parallel },
      onOver: async ({ key }) => {
        places.forget(key);
        await executors.release(key);
      },
    });
    this.#display = display;
    this.#store = store;
    this.#places = places;
    this.#executors = executors;
    this.#references = references;
    this.#preparation = preparation;
  }

  /** Continues the durable runs of an earlier process; others have failed with it. */
  async resume(): Promise<void> {
    const hub = await this.#options.hub;
    this.#unwatch = hub.watch(({ id, tenant, ended }) => {
      if (ended) this.#sessionEnded(tenant, id);
    });
    await this.#orchestrator.resume();
  }

  /** Calls a listener for every change of a run; returns `unsubscribe`. */
  subscribe(listener: GraphRunListener): () => void {
    return this.#store.subscribe(listener);
  }

  /** Validates a graph and runs it, or shows it where it is a plan. Other intents are applied to the run they name. */
  async start(principal: Principal, request: RunRequest): Promise<ProjectedRun> {
    return translated(async () => {
      const known = request.run_id === undefined ? undefined : await this.#repeated(principal, request);
      if (known) return this.#store.shown(known);
      const carried = readRequest(request);
      if (carried.kind === "declaration" && isControl(carried.declaration.intent))
        return this.#store.shown(await this.control(principal, carried));
      // What is wrong by itself begins no session.
      graphIn(carried);
      const session = await this.#sessionFor(principal, request);
      const owner = await this.ownerOf(session);
      const declaring = this.declare(carried, {
        ...{ session, principal: owner, declaration: rawOf(request, carried), carrier: "api" },
        violations: "violations" in carried ? carried.violations.map(({ detail }) => detail) : [],
        context: request.context ?? {},
        run_id: request.run_id,
      });
      return this.#store.shown(
        await declaring.catch((error: unknown) => this.#unused(request, session, error)),
      );
    });
  }

  /** A run that a principal may see. */
  async get(principal: Principal, id: string): Promise<ProjectedRun> {
    return this.#store.shown(await this.#store.expect(principal, id));
  }

  /** The newest runs that a principal may see, or those of one session. */
  async list(principal: Principal, session?: string): Promise<readonly ProjectedRun[]> {
    return (await this.#store.list(principal, session)).map((run) => this.#store.shown(run));
  }

  /** Cancels a run, or some of its actions. */
  async cancel(principal: Principal, id: string, actions?: readonly string[]): Promise<ProjectedRun> {
    return translated(async () =>
      this.#store.shown(await this.cancelRun(await this.#store.expect(principal, id), actions)),
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
      this.#store.shown(await this.decideRun(await this.#store.expect(principal, id), action, decision)),
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
      const run = await this.#store.expect(principal, id);
      const text = await this.#references.expand(run, ref, "user");
      return { ref, ...expandText(String(this.#options.harness.redact(text)), { range }) };
    });
  }

  /** Runs what a model declared: the caller has read it. Throws a {@link ProtocolError} before anything runs. */
  async declare(carried: Carried, origin: RunOrigin): Promise<GraphRun> {
    const declared = graphIn(carried);
    const { session, principal, declaration, carrier, violations, context } = origin;
    const place = { run_id: origin.run_id ?? newRunId(), tenant: session.tenant, principal };
    const { run_id } = place;
    const graph = { ...declared, actions: await this.#references.inherit(place, declared.actions) };
    const run = this.#store.make({
      ...{ ...place, session: session.id, graph },
      ...{ declaration, carrier, violations, context, started_at: now() },
    });
    await this.#preparation.validate(run);
    if (!(await this.#store.create(run, origin.turnOf?.(run_id))))
      throw new ProtocolError("state", `there is a run ${run_id} already`);
    await this.#display.begin(run);
    if (graph.isPlan || graph.actions.length === 0) {
      run.end(graph.isPlan ? "pending" : "completed", now());
      await this.#store.flush();
      return run;
    }
    await this.#orchestrator.start(run);
    return run;
  }

  async cancelRun(run: GraphRun, actions?: readonly string[]): Promise<GraphRun> {
    if (run.isOver) throw new ProtocolError("state", `the run ${run.id} is over`);
    if (run.graph.isPlan || !this.#store.active.has(run.key)) {
      run.end("canceled", now(), "it was canceled");
      await this.#store.flush();
      return run;
    }
    if (actions && actions.length > 0) {
      for (const id of actions)
        if (!run.action(id)) throw new ProtocolError("state", `run ${run.id} has no action ${id}`);
      return this.#orchestrator.send(run, { kind: "cancel", actions, reason: "it was canceled" });
    }
    await this.#orchestrator.cancel(run);
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
    if (decision === "continue" && status === "blocked" && run.details(action).approval !== undefined)
      throw new ProtocolError(
        "state",
        `a person did not agree to ${action}: no decision passes over that; a revision can replace it`,
      );
    const attempts = run.states.get(action)?.attempts;
    return this.#orchestrator.send(run, { kind: "decide", action, decision, attempts });
  }

  /** Replaces the actions of a run that are neither running nor completed. One that failed or is blocked continues. */
  async reviseRun(run: GraphRun, graph: Graph): Promise<GraphRun> {
    const { status } = run.standing;
    if (run.isOver && status !== "failed" && status !== "blocked")
      throw new ProtocolError("state", `the run ${run.id} is ${status}: there is nothing to revise`);
    const sections = [...run.graph.sections, ...graph.sections];
    const known = run.graph.actions.filter(({ id }) => !graph.actions.some((one) => one.id === id));
    if (known.length + graph.actions.length > MOST_ACTIONS)
      throw new ProtocolError("graph", `with this revision the run has more than ${MOST_ACTIONS} actions`);
    const together = await this.#references.inherit(run.declared, [...known, ...graph.actions]);
    const all = { ...run.graph, sections, actions: together };
    const actions = together.slice(known.length);
    const revised = new GraphRun({ ...run.declared, graph: all }, () => undefined);
    await this.#preparation.validate(revised, actions);
    return this.#orchestrator.send(run, { kind: "revise", graph: { ...graph, actions, sections } });
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

  /** The run of an id in a tenant; `undefined` for none. */
  find(tenant: string, id: string): Promise<GraphRun | undefined> {
    return this.#store.find(tenant, id);
  }

  /** What a reference of a session's model leads to. */
  expandFor(run: GraphRun, ref: string): Promise<string> {
    return this.#references.expand(run, ref, "model");
  }

  /** How the actions of a run stand, with outputs as far as a model is to see more of them than a summary. */
  statesWithOutputs(run: GraphRun): Promise<readonly ActionState[]> {
    return this.#references.statesWithOutputs(run);
  }

  /** The principal of a session as it is now. */
  async ownerOf({ principal: id }: SessionRecord): Promise<Principal> {
    const owner = await this.#options.harness.identity.current({ id });
    if (owner) return owner;
    throw new ProtocolError("forbidden", "the principal of the session is not valid any more");
  }

  /** The executors that a session may use. */
  async executorsIn(session: SessionRecord): Promise<{
    readonly registry: ExecutorRegistry;
    readonly allowed: readonly RunExecutor[];
  }> {
    const principal = await this.ownerOf(session);
    const place = await this.#places.ofSession({ tenant: session.tenant, session: session.id, principal });
    const registry = await this.#executors.ofSession(place);
    return { registry, allowed: registry.allowedIn(place) };
  }

  /** Stops: effects that are under way have a moment to end, and durable runs are continued by the next process. */
  async close(): Promise<void> {
    this.#unwatch?.();
    await this.#orchestrator.close();
    this.#display.close();
    await this.#store.flush().catch(this.#options.onError);
    await this.#executors.close();
    await Promise.allSettled([...this.#store.active.values()].flatMap((run) => [...run.writing]));
  }

  /** Applies a declaration about a run that a principal may see. */
  async control(
    principal: Principal,
    { declaration, sections }: Pick<Extract<Carried, { kind: "declaration" }>, "declaration" | "sections">,
  ): Promise<GraphRun> {
    switch (declaration.intent) {
      case "cancel": {
        const { run_id, actions } = declaration.payload;
        return this.cancelRun(await this.#store.expect(principal, run_id), actions);
      }
      case "decide": {
        const { run_id, action_id, decision } = declaration.payload;
        return this.decideRun(await this.#store.expect(principal, run_id), action_id, decision);
      }
      case "revise": {
        const run = await this.#store.expect(principal, declaration.payload.run_id);
        return this.reviseRun(run, graphOfDeclaration(declaration, sections, run.kept));
      }
      default:
        throw new ProtocolError("malformed", `the intent ${declaration.intent} starts no run`);
    }
  }

  /** The run that an earlier request of the same id started. */
  async #repeated(principal: Principal, request: RunRequest): Promise<GraphRun | undefined> {
    const run = await this.#store.find(principal.tenant, request.run_id ?? "");
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
      const { stopping } = this.#orchestrator;
      const started = await hub.request(connection, "session/new", params, stopping);
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
      await hub.terminate(await this.ownerOf(session), session.id).catch(this.#options.onError);
    }
    throw error;
  }

  #sessionEnded(tenant: string, session: string): void {
    for (const run of this.#store.active.values())
      if (run.declared.tenant === tenant && run.declared.session === session)
        this.#orchestrator.cancel(run).catch(this.#options.onError);
  }
}

function now(): string {
  return new Date().toISOString();
}

function newRunId(): string {
  return `run_${randomBytes(9).toString("base64url").replace(/[-_]/g, "x")}`;
}
