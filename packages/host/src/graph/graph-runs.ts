import { randomBytes } from "node:crypto";
import { join } from "node:path";
import {
  type ActionState,
  type Carried,
  type Expanded,
  type ExpandRange,
  expandText,
  type ProjectedRun,
  ProtocolError,
} from "@reins/graph";
import { isRecord, raceAbort } from "@reins/kit";
import { ArtifactStore } from "@reins/ledger";
import type { ProcessRegistry } from "@reins/runner";
import { type Harness, type Principal, SupervisorError } from "@reins/supervisor";
import type { Hub } from "../hub/hub.ts";
import type { SessionRecord } from "../sessions/session-record.ts";
import { type SummarizerSettings, summarizerOf } from "./agent-executors.ts";
import type { RunExecutor } from "./executor.ts";
import type { GraphRun, GraphRunListener } from "./graph-run.ts";
import { recordUnknown } from "./open-verdicts.ts";
import type { PipelineSettings } from "./pipeline-executors.ts";
import { ActionPreparation } from "./prepare-action.ts";
import { maySee, References } from "./references.ts";
import type { ExecutorRegistry } from "./registry.ts";
import { RunControls, type RunDecision } from "./run-controls.ts";
import { RunExecutors, type RunExecutorsOptions } from "./run-executors.ts";
import { RunOrchestrator, type RunOrchestratorOptions } from "./run-orchestrator.ts";
import { chainOf, NATIVE_AGENT, RunPlaces } from "./run-place.ts";
import {
  differingMembers,
  graphIn,
  isControl,
  type RunOrigin,
  type RunRequest,
  rawOf,
  readRequest,
  requestDigests,
  translated,
} from "./run-request.ts";
import { RunStore } from "./run-store.ts";
import { SealedArtifacts } from "./sealed-artifacts.ts";
import type { ServiceSettings } from "./service-executors.ts";
import { RunDisplay } from "./show-run.ts";

export interface GraphRunsOptions extends Omit<RunExecutorsOptions, "pipelines" | "services"> {
  readonly harness: Harness;
  /** Where sessions live, once that is open. */
  readonly hub: Promise<Hub>;
  /** What the kill switch knows. */
  readonly register: ProcessRegistry;
  /** Resolves when {@link GraphRuns.endRuns} was called for whatever an order has ended so far. */
  readonly caughtUpWithKills: () => Promise<void>;
  readonly settings?: GraphSettings | undefined;
}

/** What an operator configures for action graphs. */
export interface GraphSettings extends Pick<RunOrchestratorOptions, "parallel" | "calls" | "openDurable"> {
  readonly pipelines?: Readonly<Record<string, PipelineSettings>> | undefined;
  readonly services?: Readonly<Record<string, ServiceSettings>> | undefined;
  /** The most runs of a user that are under way. */
  readonly open?: number | undefined;
  /** Sums up long results for models; without one they are cut. */
  readonly summarizer?: SummarizerSettings | undefined;
}

/**
 * Runs of action graphs: each belongs to a session, whose principal, folders, rules and clients it has. Each attempt at an
 * action is decided, performed and recorded; a durable run continues after any stop.
 */
export class GraphRuns {
  readonly #options: GraphRunsOptions;
  readonly #places: RunPlaces;
  readonly #executors: RunExecutors;
  readonly #artifacts: SealedArtifacts;
  readonly #references: References;
  readonly #preparation: ActionPreparation;
  readonly #display: RunDisplay;
  readonly #store: RunStore;
  readonly #orchestrator: RunOrchestrator;
  /** The transcripts of sessions that declare graphs. */
  get transcripts(): Pick<RunStore, "turn" | "turns"> {
    return this.#store;
  }

  /** Changes runs that there are. */
  readonly controls: RunControls;
  #unwatch: (() => void) | undefined;

  constructor(options: GraphRunsOptions) {
    this.#options = options;
    const { harness, onError, settings = {}, caughtUpWithKills } = options;
    const { open: mostOpen, parallel, calls, summarizer, openDurable } = settings;
    const display = new RunDisplay(options);
    const artifacts = new SealedArtifacts(new ArtifactStore(join(harness.home, "artifacts")));
    const onChange = (run: GraphRun) => display.changed(run);
    const store = new RunStore({ harness, onError, onChange, mostOpen });
    const places = new RunPlaces({ ...options, hub: () => options.hub });
    const executors = new RunExecutors({ ...options, ...settings });
    const references = new References({ artifacts, store, identity: harness.identity });
    const preparation = new ActionPreparation({ places, executors, references });
    this.#orchestrator = new RunOrchestrator({
      ...{ harness, store, preparation, display, artifacts, onError, parallel, calls, openDurable },
      summarize: summarizer && summarizerOf(options.subagents, summarizer),
      register: (run) => this.#register(run),
      settleEarlier: (run, children) => this.#settleEarlier(run, children),
      ...{ onOver: (run: GraphRun) => this.#forget(run), caughtUpWithKills },
    });
    this.controls = new RunControls({ store, orchestrator: this.#orchestrator, preparation, references });
    this.#display = display;
    this.#artifacts = artifacts;
    this.#store = store;
    this.#places = places;
    this.#executors = executors;
    this.#references = references;
    this.#preparation = preparation;
  }

  /** Why durable runs wait; `undefined` while nothing is known to hold them. */
  get outage(): string | undefined {
    return this.#orchestrator.outage;
  }

  /** Continues the durable runs of an earlier process; others have failed with it. */
  async resume(): Promise<void> {
    const hub = await this.#options.hub;
    this.#unwatch = hub.watch(({ id, tenant, ended }) => ended && this.endRuns([id], tenant));
    if (!this.#options.harness.store.node) await this.#orchestrator.resume();
    hub.tenants.listen({
      adopted: (tenant) => this.#orchestrator.resume(tenant),
      released: (tenant) => this.#orchestrator.release(tenant),
      isBusy: (tenant) => this.isBusy(tenant),
    });
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
        return this.#store.shown(await this.controls.apply(principal, carried, "client", rawOf(request)));
      // What is wrong by itself begins no session.
      graphIn(carried);
      const session = await this.#sessionFor(principal, request);
      const owner = await this.ownerOf(session);
      const declaring = this.declare(carried, {
        ...{ session, principal: owner, declaration: rawOf(request), carrier: "api" },
        violations: "violations" in carried ? carried.violations.map(({ detail }) => detail) : [],
        context: request.context ?? {},
        run_id: request.run_id,
        request: requestDigests(request),
      });
      return this.#store.shown(
        await declaring.catch((error: unknown) => this.#unused(principal, request, session, error)),
      );
    });
  }

  /** A run that a principal may see. */
  async get(principal: Principal, id: string): Promise<ProjectedRun> {
    return this.#store.shown(await this.#store.expect(principal, id));
  }

  /** Cancels a run, or some of its actions. */
  async cancel(principal: Principal, id: string, actions?: readonly string[]): Promise<ProjectedRun> {
    return this.#control(principal, id, (run) =>
      this.controls.cancel(run, { principal, through: "client" }, actions),
    );
  }

  /** Decides what becomes of an action that failed or was blocked. It answers no approval. */
  async decide(
    principal: Principal,
    id: string,
    { action, note, ...asked }: RunDecision & { readonly note?: string | undefined },
  ): Promise<ProjectedRun> {
    const author = { principal, through: "client", note } as const;
    return this.#control(principal, id, (run) => this.controls.decide(run, { action, ...asked }, author));
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
      const text = await this.#references.expand(run.declared, ref, { run, audience: "user" });
      return { ref, ...expandText(String(this.#options.harness.redact(text)), { range }) };
    });
  }

  /** Runs what a model declared: the caller has read it. Throws a {@link ProtocolError} before anything runs. */
  async declare(carried: Carried, origin: RunOrigin): Promise<GraphRun> {
    const declared = graphIn(carried);
    const { session, principal, declaration, carrier, violations, context, request } = origin;
    const place = { run_id: origin.run_id ?? newRunId(), tenant: session.tenant, principal };
    const graph = { ...declared, actions: await this.#references.inherit(place, declared.actions) };
    const run = this.#store.make({
      ...{ ...place, session: session.id, chain: chainOf(session), graph },
      ...{ declaration, carrier, violations, context, request, started_at: now() },
    });
    const release = this.#store.reserve(run);
    try {
      await this.#preparation.validate(run);
      const create = async () => {
        origin.signal?.throwIfAborted();
        if (!(await this.#store.create(run, origin.turnOf?.(place.run_id))))
          throw new ProtocolError("state", `there is a run ${place.run_id} already`);
      };
      const show = () => this.#display.begin(run);
      if (graph.isPlan || graph.actions.length === 0) {
        await create();
        await show();
        run.end({ status: graph.isPlan ? "pending" : "completed", endedAt: now() });
        await Promise.all([this.#store.flush(), this.#display.reported(run)]);
      } else await this.#orchestrator.start(run, create, show);
      return run;
    } catch (error) {
      if (!this.#store.active.has(run.key)) await this.#forget(run);
      throw error;
    } finally {
      release();
    }
  }

  /** Resolves when a run is over, or stands where the model decides. */
  decisionPoint(run: GraphRun, signal: AbortSignal): Promise<void> {
    if (signal.aborted) return Promise.reject(signal.reason);
    if (run.callsModel) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    const unsubscribe = this.subscribe((changed) => {
      if (changed.key === run.key && changed.callsModel) resolve();
    });
    return raceAbort(promise, signal).finally(unsubscribe);
  }

  /** Forgets what was over before an instant: runs with their journals and outputs, and turns of transcripts. */
  async prune(before: Date): Promise<void> {
    await this.#store.prune(before, async (run) => {
      for (const one of run.artifacts) await this.#artifacts.erase(one);
    });
  }

  /** Cancels the runs of sessions that have ended, or were killed. */
  endRuns(sessions: readonly string[], tenant?: string): void {
    for (const run of this.#orchestrator.underWay) {
      const isOwn = tenant === undefined || run.declared.tenant === tenant;
      if (isOwn && sessions.includes(run.declared.session))
        this.controls.end(run, "its session has ended").catch(this.#options.onError);
    }
  }

  /** Whether a run of a tenant, or of one session, is under way. */
  isBusy(tenant: string, session?: string): boolean {
    const isOf = ({ declared }: GraphRun) => session === undefined || declared.session === session;
    return this.#orchestrator.underWay.some((run) => run.declared.tenant === tenant && isOf(run));
  }

  /** The run of an id in a tenant; `undefined` for none. */
  find(tenant: string, id: string): Promise<GraphRun | undefined> {
    return this.#store.find(tenant, id);
  }

  /** What a reference of a session's model leads to: by itself in a run of it, if there is one. */
  async expandFor(session: SessionRecord, ref: string, run: GraphRun | undefined): Promise<string> {
    const { tenant } = session;
    const principal = run?.declared.principal ?? (await this.ownerOf(session));
    return this.#references.expand({ tenant, principal }, ref, { run, audience: "model" });
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

  #control(principal: Principal, id: string, control: (run: GraphRun) => Promise<GraphRun>) {
    return translated(async () => this.#store.shown(await control(await this.#store.expect(principal, id))));
  }

  /** The run that an earlier request of the same id started. */
  async #repeated(principal: Principal, request: RunRequest): Promise<GraphRun | undefined> {
    const run = await this.#store.find(principal.tenant, request.run_id ?? "");
    if (!run) return undefined;
    const { request: earlier } = run.declared;
    const differing =
      maySee(principal, run) && earlier ? differingMembers(earlier, requestDigests(request)) : ["owner"];
    if (differing.length === 0) return run;
    const what = earlier && maySee(principal, run) ? `, with another ${differing.join(", ")}` : "";
    throw new SupervisorError("conflict", `there is a run ${request.run_id} already${what}`);
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

  /**
   * Ends the session of a graph that was refused, if it was begun for it. Rejects with the reason, unless the same request
   * started the run at the same time.
   */
  async #unused(
    principal: Principal,
    request: RunRequest,
    session: SessionRecord,
    error: unknown,
  ): Promise<GraphRun> {
    if (request.session === undefined) {
      const hub = await this.#options.hub;
      await hub.terminate(await this.ownerOf(session), session.id).catch(this.#options.onError);
    }
    const same = request.run_id === undefined ? undefined : await this.#repeated(principal, request);
    if (same) return same;
    throw error;
  }

  /** Lets go of what a run held. */
  async #forget({ key }: GraphRun): Promise<void> {
    this.#places.forget(key);
    await this.#executors.release(key);
  }

  async #settleEarlier(run: GraphRun, children: readonly string[]): Promise<void> {
    const { session, tenant } = run.declared;
    for (const key of children) await this.#options.subagents.end(key, tenant, "terminated");
    const record = await (await this.#options.hub).sessions.read(session, tenant);
    if (record) await recordUnknown(this.#options.harness, record, run);
  }

  /** Has the kill switch know a run under way as something that runs in its session; returns what ends that. */
  async #register({ declared }: GraphRun): Promise<() => void> {
    const { register } = this.#options;
    const { tenant, session, principal, started_at } = declared;
    const hub = await this.#options.hub;
    const { agent = NATIVE_AGENT } = (await hub.sessions.read(session, tenant)) ?? {};
    const id = register.add({ agent, tenant, principal: principal.id, confined: false, started_at });
    register.hold(id, [session]);
    return () => register.remove(id);
  }
}

function now(): string {
  return new Date().toISOString();
}

function newRunId(): string {
  return `run_${randomBytes(9).toString("base64url").replace(/[-_]/g, "x")}`;
}
