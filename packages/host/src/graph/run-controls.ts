import {
  type Carried,
  type ControlOrigin,
  type Graph,
  graphOfDeclaration,
  MOST_ACTIONS,
  ProtocolError,
  referencesOf,
} from "@reins/graph";
import { SYSTEM } from "@reins/ledger";
import { actorOf, type Principal } from "@reins/supervisor";
import { GraphRun } from "./graph-run.ts";
import type { ActionPreparation } from "./prepare-action.ts";
import type { References } from "./references.ts";
import type { RunOrchestrator } from "./run-orchestrator.ts";
import type { RunStore } from "./run-store.ts";

export interface RunControlsOptions {
  readonly store: RunStore;
  readonly orchestrator: RunOrchestrator;
  readonly preparation: ActionPreparation;
  readonly references: References;
}

/** What becomes of an action. */
export interface RunDecision {
  readonly action: string;
  readonly decision: "retry" | "continue" | "abort";
}

/** Who changes a run, and with which words. */
interface ControlAuthor {
  /** Who it is; absent for the runtime itself. */
  readonly principal?: Principal | undefined;
  readonly through: ControlOrigin["through"];
  readonly note?: string | undefined;
  /** What declares it, as it was written. */
  readonly declaration?: string | undefined;
}

/** What a person or a model does about a run that there is: cancels it, decides, or revises it. */
export class RunControls {
  readonly #options: RunControlsOptions;

  constructor(options: RunControlsOptions) {
    this.#options = options;
  }

  /** Applies a declaration about a run that a principal may see; it is kept as it was written. */
  async apply(
    principal: Principal,
    { declaration, sections }: Pick<Extract<Carried, { kind: "declaration" }>, "declaration" | "sections">,
    through: ControlAuthor["through"],
    written: string,
  ): Promise<GraphRun> {
    const { store } = this.#options;
    const author = { principal, through, declaration: written };
    switch (declaration.intent) {
      case "cancel": {
        const { run_id, actions } = declaration.payload;
        return this.cancel(await store.expect(principal, run_id), author, actions);
      }
      case "decide": {
        const { run_id, action_id: action, decision, note } = declaration.payload;
        const run = await store.expect(principal, run_id);
        return this.decide(run, { action, decision }, { ...author, note });
      }
      case "revise": {
        const run = await store.expect(principal, declaration.payload.run_id);
        return this.revise(run, graphOfDeclaration(declaration, sections, run.kept), author);
      }
      default:
        throw new ProtocolError("malformed", `the intent ${declaration.intent} starts no run`);
    }
  }

  /** Cancels a run, or some of its actions. */
  async cancel(run: GraphRun, author: ControlAuthor, actions?: readonly string[]): Promise<GraphRun> {
    const { orchestrator } = this.#options;
    const origin = originOf(run, author);
    if (run.isOver) throw new ProtocolError("state", `the run ${run.id} is over`);
    if (actions) {
      for (const id of actions)
        if (!run.action(id)) throw new ProtocolError("state", `run ${run.id} has no action ${id}`);
      return orchestrator.send(run, { kind: "cancel", actions, reason: "it was canceled", origin });
    }
    return orchestrator.cancel(run, origin);
  }

  /** Cancels a run for the runtime. */
  async end(run: GraphRun, note: string): Promise<void> {
    await this.#options.orchestrator.cancel(run, originOf(run, { through: "runtime", note }));
  }

  /** Decides what becomes of an action that failed or was blocked. It answers no approval. */
  async decide(run: GraphRun, { action, decision }: RunDecision, author: ControlAuthor): Promise<GraphRun> {
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
    const origin = originOf(run, author);
    return this.#options.orchestrator.send(run, { kind: "decide", action, decision, attempts, origin });
  }

  /** Replaces the actions of a run that are neither running nor completed. One that failed or is blocked continues. */
  async revise(run: GraphRun, graph: Graph, author: ControlAuthor): Promise<GraphRun> {
    const { references, preparation, orchestrator } = this.#options;
    const { status } = run.standing;
    if (run.isOver && status !== "failed" && status !== "blocked")
      throw new ProtocolError("state", `the run ${run.id} is ${status}: there is nothing to revise`);
    const sections = revisedSections(run, graph);
    const known = run.graph.actions.filter(({ id }) => !graph.actions.some((one) => one.id === id));
    if (known.length + graph.actions.length > MOST_ACTIONS)
      throw new ProtocolError("graph", `with this revision the run has more than ${MOST_ACTIONS} actions`);
    const together = await references.inherit(run.declared, [...known, ...graph.actions]);
    const all = { ...run.graph, sections, actions: together };
    const actions = together.slice(known.length);
    const revised = new GraphRun({ ...run.declared, graph: all }, () => undefined);
    await preparation.validate(revised, actions);
    const origin = originOf(run, author);
    return orchestrator.send(run, { kind: "revise", graph: { ...graph, actions, sections }, origin });
  }
}

/** The sections of a run with those of a revision, whose texts replace others of the same heading. Throws where something that runs has such a one. */
function revisedSections(
  { graph: { sections, actions }, states }: GraphRun,
  { sections: own }: Graph,
): Graph["sections"] {
  const replaced = new Map(own.map(({ id, hash }) => [id, hash]));
  const isOther = (id: string) =>
    sections.some((known) => known.id === id && known.hash !== replaced.get(id));
  const isRunning = ({ id }: { readonly id: string }) => RUNS.has(states.get(id)?.status ?? "pending");
  for (const action of actions.filter(isRunning))
    for (const reference of referencesOf(action))
      if (reference.kind === "section" && replaced.has(reference.id) && isOther(reference.id))
        throw new ProtocolError(
          "state",
          `${action.id} runs with another text of md:${reference.id}; give the new one a heading of its own`,
        );
  return [...sections.filter(({ id }) => !replaced.has(id)), ...own];
}

const RUNS: ReadonlySet<string> = new Set(["running", "waiting"]);

/** Who changes a run, as that is stored and recorded. */
function originOf(
  { declared: { session, chain } }: GraphRun,
  { principal, ...said }: ControlAuthor,
): ControlOrigin {
  const by = principal ? actorOf(principal) : SYSTEM;
  return { at: new Date().toISOString(), by, ...said, session, chain };
}
