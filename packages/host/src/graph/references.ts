import {
  type ActionState,
  artifactAction,
  type GraphAction,
  inheritVisibility,
  isWider,
  ProtocolError,
  type Reference,
  readReference,
  referencesOf,
} from "@reins/graph";
import { isRecord } from "@reins/kit";
import { type Identity, isAdmin, type Principal } from "@reins/supervisor";
import type { DeclaredRun, GraphRun } from "./graph-run.ts";
import type { SealedArtifact, SealedArtifacts } from "./sealed-artifacts.ts";

/** What references are resolved with. */
export interface ReferencePorts {
  readonly artifacts: Pick<SealedArtifacts, "get">;
  readonly store: {
    /** A run of a tenant, also one that is over. */
    readonly find: (tenant: string, run: string) => Promise<GraphRun | undefined>;
  };
  /** Tells the rights that a principal has now: a run may outlive those that it was declared with. */
  readonly identity: Pick<Identity, "current">;
}

/** What of a result a model is shown that its summary does not say. */
const NEEDS_OUTPUT: ReadonlySet<string> = new Set(["structured", "excerpt", "full", "adaptive"]);

/** Who wants to see a result: a later run, or a person or model. */
export type ResultAudience = "future_run" | "model" | "user";

/** Resolves the references of runs. What leads nowhere, or to what may not be seen, is a {@link ProtocolError}. */
export class References {
  readonly #ports: ReferencePorts;

  constructor(ports: ReferencePorts) {
    this.#ports = ports;
  }

  /** The same for checks that belong together: each run and the rights of each principal are read once. */
  get together(): References {
    const { artifacts, store, identity } = this.#ports;
    const find = once(
      (...key: Parameters<typeof store.find>) => store.find(...key),
      (...key) => key.join("/"),
    );
    const current = once(
      (principal: { readonly id: string }) => identity.current(principal),
      ({ id }) => id,
    );
    return new References({ artifacts, store: { find }, identity: { current } });
  }

  /** What a reference of an action leads to. */
  async resolve(
    run: GraphRun,
    states: ReadonlyMap<string, ActionState>,
    reference: Reference,
  ): Promise<unknown> {
    switch (reference.kind) {
      case "section": {
        const section = run.graph.sections.find(({ id }) => id === reference.id);
        if (section) return section.text;
        throw missing(`md:${reference.id}`);
      }
      case "input": {
        const value = memberAt(run.declared.context, reference.path);
        if (value !== undefined) return value;
        throw missing(`input:${reference.path.join(".")}`);
      }
      case "action":
        return resultOf(states.get(reference.action), reference.part, `action:${reference.action}`);
      case "artifact":
      case "run": {
        const { run_id, tenant, principal } = run.declared;
        const other = reference.run ?? run_id;
        if (other === run_id) return this.#own(run, states, reference);
        const found = await this.expectVisible(principal, tenant, other);
        return this.stored(found, reference, "future_run");
      }
    }
  }

  /** Throws unless every reference to another run leads to one that its principal may see. */
  async check(principal: Principal, references: readonly Reference[], own?: string): Promise<void> {
    for (const reference of references)
      if ((reference.kind === "run" || reference.kind === "artifact") && reference.run !== undefined) {
        if (reference.run === own) continue;
        const found = await this.expectVisible(principal, principal.tenant, reference.run);
        const name = actionIn(reference);
        if (name !== undefined) expectShown(expectAction(found, name), "future_run");
      }
  }

  /** The actions of a run, each withheld as what it refers to is, in this run or another. */
  async inherit(
    { tenant, principal, run_id }: Pick<DeclaredRun, "tenant" | "principal" | "run_id">,
    actions: readonly GraphAction[],
  ): Promise<readonly GraphAction[]> {
    const { together } = this;
    const ids = new Set(actions.map(({ id }) => id));
    const outside = new Map<string, GraphAction | undefined>();
    for (const reference of actions.flatMap(referencesOf)) {
      const run = runIn(reference);
      const name = run === undefined || run === run_id ? undefined : actionIn(reference);
      if (run === undefined || name === undefined) continue;
      outside.set(`${run}/${name}`, expectAction(await together.expectVisible(principal, tenant, run), name));
    }
    return inheritVisibility(actions, (reference) => {
      const name = actionIn(reference);
      if (name === undefined) return undefined;
      const run = runIn(reference) ?? run_id;
      if (run !== run_id) return outside.get(`${run}/${name}`)?.visibility;
      const action = artifactAction(name, ids);
      return action === undefined ? undefined : { action };
    });
  }

  /** Throws if a reference of a run leads to a result that is withheld from an audience, in that run or another. */
  async expectShown(
    run: GraphRun,
    reference: Reference,
    audience: Exclude<ResultAudience, "future_run">,
  ): Promise<void> {
    const source = await this.#source(run, reference);
    if (source) expectShown(source, audience);
  }

  /**
   * Throws if an action would show what a reference leads to, to any that it is withheld from. Actions inherit that when
   * they are declared; what they refer to may have been chosen or revised since.
   */
  async expectWithheld(run: GraphRun, { visibility }: GraphAction, reference: Reference): Promise<void> {
    const source = await this.#source(run, reference);
    if (!source) return;
    if (isWider(visibility, source.visibility)) throw withheld(source);
  }

  /** A run that a principal may see. */
  async expectVisible(principal: Principal, tenant: string, id: string): Promise<GraphRun> {
    const found = await this.#ports.store.find(tenant, id);
    const current = await this.#ports.identity.current(principal);
    if (found && current && maySee(current, found)) return found;
    throw new ProtocolError("reference", `there is no run ${id}`);
  }

  /** What a run stored under a reference. */
  async stored(
    run: GraphRun,
    reference: Extract<Reference, { kind: "run" | "artifact" }>,
    audience: ResultAudience,
  ): Promise<string> {
    const id = actionIn(reference);
    if (id === undefined) return run.declared.declaration;
    const action = expectAction(run, id);
    expectShown(action, audience);
    const part = reference.kind === "run" ? reference.part : "output";
    const state = run.states.get(action.id);
    if (part === "summary") return state?.result?.summary ?? "";
    const { artifact } = run.details(action.id);
    const output = artifact && (await this.#ports.artifacts.get(artifact));
    if (output !== undefined) return output;
    throw new ProtocolError("reference", `${id} of run ${run.id} has no stored output`);
  }

  /** What a reference leads to, for a person or a model that may see a run; without one, it has to name its run. */
  async expand(
    { tenant, principal }: Pick<DeclaredRun, "tenant" | "principal">,
    ref: string,
    { run, audience }: { readonly run: GraphRun | undefined; readonly audience: "user" | "model" },
  ): Promise<string> {
    const reference = readReference(ref);
    if (reference.kind !== "action" && reference.kind !== "run" && reference.kind !== "artifact")
      throw new ProtocolError("reference", `${ref} is not a stored result`);
    const named = runIn(reference);
    const found =
      named === undefined || named === run?.id ? run : await this.expectVisible(principal, tenant, named);
    if (!found)
      throw new ProtocolError(
        "reference",
        `no run of this session has ${ref}; name one, as in runtime://runs/<run>/actions/<id>/output`,
      );
    if (reference.kind !== "action") return this.stored(found, reference, audience);
    const { action, part } = reference;
    return this.stored(found, { kind: "run", run: found.id, action, part }, audience);
  }

  /** How the actions of a run stand, with outputs as far as a model is to see more of them than a summary. */
  async statesWithOutputs(run: GraphRun): Promise<readonly ActionState[]> {
    return Promise.all(
      run.graph.actions.flatMap(({ id, result: { return_to_model } }) => {
        const state = run.states.get(id);
        if (!state) return [];
        const { artifact } = run.details(id);
        const isKnown = !state.result || state.result.output !== null || !NEEDS_OUTPUT.has(return_to_model);
        return [isKnown || !artifact ? state : this.#withOutput(state, artifact)];
      }),
    );
  }

  /** The action whose result a reference of a run leads to. */
  async #source(run: GraphRun, reference: Reference): Promise<GraphAction | undefined> {
    const name = actionIn(reference);
    if (name === undefined) return undefined;
    const { tenant, principal } = run.declared;
    const other = runIn(reference) ?? run.id;
    return expectAction(other === run.id ? run : await this.expectVisible(principal, tenant, other), name);
  }

  async #own(
    run: GraphRun,
    states: ReadonlyMap<string, ActionState>,
    reference: Extract<Reference, { kind: "run" | "artifact" }>,
  ): Promise<unknown> {
    const id = actionIn(reference);
    if (id === undefined) return run.declared.declaration;
    const action = expectAction(run, id);
    const part = reference.kind === "run" ? (reference.part ?? "output") : "output";
    return resultOf(states.get(action.id), part, id);
  }

  async #withOutput(state: ActionState, artifact: SealedArtifact): Promise<ActionState> {
    const output = await this.#ports.artifacts.get(artifact);
    if (output === undefined || !state.result) return state;
    return { ...state, result: { ...state.result, output } };
  }
}

/** Asks once for each key. */
function once<Given extends readonly unknown[], Value>(
  ask: (...given: Given) => Promise<Value>,
  keyOf: (...given: Given) => string,
): (...given: Given) => Promise<Value> {
  const known = new Map<string, Promise<Value>>();
  return (...given) => {
    const key = keyOf(...given);
    const answer = known.get(key) ?? ask(...given);
    known.set(key, answer);
    return answer;
  };
}

/** Whether a principal may see a run: its own, for an admin those of the tenant. */
export function maySee(principal: Principal, { declared }: GraphRun): boolean {
  const { tenant, principal: owner } = declared;
  return tenant === principal.tenant && (isAdmin(principal) || owner.id === principal.id);
}

/** The action that a reference names. */
function actionIn(reference: Reference): string | undefined {
  if (reference.kind === "run" || reference.kind === "action") return reference.action;
  return reference.kind === "artifact" ? reference.name : undefined;
}

/** The run that a reference names; `undefined` for its own. */
function runIn(reference: Reference): string | undefined {
  return reference.kind === "run" || reference.kind === "artifact" ? reference.run : undefined;
}

function expectAction(run: GraphRun, id: string): GraphAction {
  const named = artifactAction(id, { has: (name) => run.action(name) !== undefined });
  const found = named === undefined ? undefined : run.action(named);
  if (found) return found;
  throw new ProtocolError("reference", `run ${run.id} has no action ${id}`);
}

function expectShown(action: GraphAction, audience: ResultAudience): void {
  const { futureRuns: future_run, model, user } = action.visibility;
  if (!{ future_run, model, user }[audience]) throw withheld(action);
}

function withheld({ id }: GraphAction): ProtocolError {
  return new ProtocolError("reference", `the result of ${id} is withheld`);
}

function resultOf(state: ActionState | undefined, part: "summary" | "output", name: string): unknown {
  if (state?.result) return part === "summary" ? state.result.summary : state.result.output;
  // One that failed is passed over by its policy: what follows sees how it ended.
  if (state?.reason !== undefined) return `${state.status}: ${state.reason}`;
  throw missing(name);
}

function missing(reference: string): ProtocolError {
  return new ProtocolError("reference", `${reference} leads to nothing`);
}

/** The member of a value at a path; `undefined` where there is none. */
export function memberAt(value: unknown, path: readonly string[]): unknown {
  let found: unknown = value;
  for (const name of path) {
    if (!isRecord(found) || !Object.hasOwn(found, name)) return undefined;
    found = found[name];
  }
  return found;
}
