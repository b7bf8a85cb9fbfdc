import { randomUUID } from "node:crypto";
import { realpath } from "node:fs/promises";
import { basename, dirname, join, resolve as resolvePath } from "node:path";
import {
  type ActionState,
  type AttemptRequest,
  assertNoConflict,
  type GraphAction,
  type Handoff,
  isElsewhere,
  mayHandOver,
  ProtocolError,
  pathOfResource,
  type Reference,
  type RunScope,
  readReference,
  referencesOf,
  type SchedulePorts,
  withReferences,
  writesOf,
} from "@reins/graph";
import { isRecord } from "@reins/kit";
import { type ActionCall, beginOnce, type RunExecutor } from "./executor.ts";
import type { GraphRun } from "./graph-run.ts";
import type { References } from "./references.ts";
import { checkInput, type ExecutorRegistry } from "./registry.ts";
import type { RunExecutors } from "./run-executors.ts";
import type { RunPlace, RunPlaces } from "./run-place.ts";

export interface PreparationPorts {
  readonly places: RunPlaces;
  readonly executors: RunExecutors;
  readonly references: References;
}

/** The beginning of the names under which the journal of a run has the keys of its child sessions. */
const CHILD = "child/";

/** The keys of the child sessions that a journal has. */
export function childrenIn(entries: ReadonlyMap<string, unknown>): readonly string[] {
  return [...entries].flatMap(([name, key]) => (name.startsWith(CHILD) ? String(key) : []));
}

/** The longest summary in a handoff, in characters. */
const LONGEST_SUMMARY = 20_000;
/** The most that an action is given by its references, in characters: results of results grow without bound. */
const LONGEST_INPUT = 4 << 20;

/** Finds out who executes the actions of runs, and with what. */
export class ActionPreparation {
  readonly #ports: PreparationPorts;

  constructor(ports: PreparationPorts) {
    this.#ports = ports;
  }

  /** Checks everything of a run, or of some of its actions, that can be known before anything runs. */
  async validate(run: GraphRun, actions = run.graph.actions): Promise<void> {
    const references = this.#ports.references.together;
    const { principal, run_id } = run.declared;
    const place = await this.#ports.places.ofSession(run.declared, run.key);
    if (place.record.ended) throw new ProtocolError("state", `the session ${place.id} has ended`);
    // The limits of a child are those of the turn that started it, which no restart brings back.
    if (place.record.parent !== undefined && run.graph.isDurable)
      throw new ProtocolError(
        "state",
        "the session of a subagent has no durable runs: declare it without persist and execution.mode",
      );
    const registry = await this.#ports.executors.of(run.key, place);
    for (const [index, action] of actions.entries()) {
      const { executor, input } = registry.choose(action, place);
      const path = `actions.${index}.input`;
      const all = referencesOf(action);
      const hasReferences = JSON.stringify(input ?? {}).includes('"$ref"');
      if (input || !action.prompt) checkInput(executor, input, path, { hasReferences });
      await references.check(principal, all, run_id);
      for (const one of all) if (one.kind === "input") await references.resolve(run, new Map(), one);
      await expectShown(references, run, action, executor);
    }
    assertNoConflict(run.graph, (action) => writesIn(registry, action, place));
  }

  /** What the schedule of a run goes by: what actions write, the whole workspace where that is not known, and whether they use tokens. */
  async traits(run: GraphRun): Promise<Pick<Required<SchedulePorts>, "writesOf" | "usesTokens">> {
    try {
      const place = await this.#ports.places.ofSession(run.declared, run.key);
      const registry = await this.#ports.executors.of(run.key, place);
      return {
        writesOf: (action) => writesIn(registry, action, place),
        usesTokens: (action) => executorIn(registry, action, place)?.usesTokens ?? false,
      };
    } catch {
      return { writesOf: () => ["*"], usesTokens: () => true };
    }
  }

  /** Chooses who executes an attempt, and resolves what its action refers to. */
  async prepare(
    run: GraphRun,
    {
      action,
      states,
      key,
      iteration,
      waits,
      takeShare,
      signal: canceled,
      untilRoom,
    }: AttemptRequest & Pick<ActionCall, "untilRoom">,
    scope: RunScope,
  ): Promise<{ readonly executor: RunExecutor; readonly call: ActionCall }> {
    const references = this.#ports.references.together;
    const place = await this.#ports.places.of(run, action.id);
    const registry = await this.#ports.executors.of(run.key, place);
    const { executor, input } = registry.choose(action, place);
    await expectShown(references, run, action, executor);
    let size = 0;
    const resolve = async (reference: Reference, by = references) => {
      await by.expectWithheld(run, action, reference);
      const value = await by.resolve(run, states, reference);
      size += textOf(value).length;
      if (size <= LONGEST_INPUT) return value;
      throw new ProtocolError("reference", `${action.id} refers to more than ${LONGEST_INPUT} characters`);
    };
    // It may be performed much later, when a person has allowed it.
    const expand = async (ref: string) => {
      const reference = readReference(ref);
      await this.#ports.references.expectShown(run, reference, "model");
      return textOf(await resolve(reference, this.#ports.references));
    };
    const resolved = input && (await withReferences(input, (one) => resolve(one)));
    const prompt = action.prompt && textOf(await resolve(action.prompt));
    const context = await Promise.all(action.context.map(async (one) => textOf(await resolve(one))));
    const { attempts = 1 } = states.get(action.id) ?? {};
    const name = key.slice(run.key.length + 1);
    return {
      executor,
      call: {
        ...{ run: run.id, action, place, prompt, context, key, takeShare, canceled, untilRoom },
        mayWrite: await writable(action, executor, place),
        effectKey: `${run.key}/${action.id}/${iteration}`,
        input: isRecord(resolved) ? resolved : undefined,
        // No id has a slash: an attempt never has the name of a step of another one.
        call: `${run.id}/${action.id}/${attempts}`,
        background: backgroundOf(run, action, states, { executor, prompt }),
        sleep: (milliseconds, signal) => scope.sleep(`wait/${name}`, milliseconds, signal),
        part: (part, effect) => {
          if (!run.graph.isDurable) return effect(async () => true);
          const one = `${name}/${part}`;
          return scope.step(`part/${one}`, () => effect(async (may) => may || beginOnce(scope, one)));
        },
        child: async (agent) => {
          const key = await scope.step(`${CHILD}${name}`, async () => `${agent}:acp:${randomUUID()}`);
          run.children.began(action.id, attempts, key);
          const before = run.children.before(action.id, attempts);
          return { key, before, ...(run.graph.isDurable && { run: run.id }) };
        },
        expand,
        note: (details) => run.note(action.id, details),
        waits,
      },
    };
  }
}

/** Throws if an executor would show a model or a person what is withheld from them. */
async function expectShown(
  references: References,
  run: GraphRun,
  action: GraphAction,
  { audience = [], usesTokens = false }: RunExecutor,
): Promise<void> {
  for (const reference of referencesOf(action))
    for (const one of audience) await references.expectShown(run, reference, one);
  if (usesTokens && !action.visibility.user)
    throw new ProtocolError(
      "state",
      `the result of ${action.id} cannot be withheld from people: they see the session of the agent that does it`,
    );
}

function writesIn(registry: ExecutorRegistry, action: GraphAction, place: RunPlace): readonly string[] {
  const executor = executorIn(registry, action, place);
  return executor ? writesOf(action, executor, place.workspace.cwd) : ["*"];
}

/** What an action may write as real paths, where it declares that and is kept to it; `undefined` where that may be anything. */
async function writable(
  { writes }: GraphAction,
  { bindsWrites }: RunExecutor,
  { workspace }: RunPlace,
): Promise<readonly string[] | undefined> {
  if (!writes || !bindsWrites) return undefined;
  // What lies elsewhere allows nothing here.
  const paths = await Promise.all(
    writes
      .filter((resource) => !isElsewhere(resource))
      .map(async (resource) => {
        const path = pathOfResource(resource);
        return path === undefined ? undefined : realPathOf(resolvePath(workspace.cwd, path));
      }),
  );
  return paths.includes(undefined) ? undefined : paths.filter((path) => path !== undefined);
}

/** A path with its links followed, as far as it is there. */
async function realPathOf(path: string): Promise<string> {
  const real = await realpath(path).catch(() => undefined);
  if (real !== undefined) return real;
  const folder = dirname(path);
  return folder === path ? path : join(await realPathOf(folder), basename(path));
}

/** The executor of an action; `undefined` where none fits any more. */
function executorIn(
  registry: ExecutorRegistry,
  action: GraphAction,
  place: RunPlace,
): RunExecutor | undefined {
  try {
    return registry.choose(action, place).executor;
  } catch {
    return undefined;
  }
}

/** What the executor of an action is given of the work before it. What those who see that may not see is withheld. */
function backgroundOf(
  run: GraphRun,
  action: GraphAction,
  states: ReadonlyMap<string, ActionState>,
  { executor, prompt }: { readonly executor: RunExecutor; readonly prompt: string | undefined },
): ActionCall["background"] {
  const { audience = [] } = executor;
  if (audience.length === 0) return { handoffs: [], withheld: [], notes: [] };
  const agents = action.dependsOn.filter((id) => run.details(id).executor?.type === "agent");
  const mayGet = (id: string) => {
    const from = run.action(id)?.visibility;
    return from !== undefined && mayHandOver(from, action.visibility, audience);
  };
  return {
    handoffs: agents.filter(mayGet).flatMap((from) => handoffTo(run, action, { from, states, prompt })),
    withheld: agents.filter((id) => !mayGet(id)),
    notes: (run.declared.controls ?? []).flatMap(({ actions, note }) =>
      note !== undefined && actions?.includes(action.id) ? [note] : [],
    ),
  };
}

/** What an agent left to be continued; none where it came to no result. */
function handoffTo(
  run: GraphRun,
  action: GraphAction,
  {
    from,
    states,
    prompt,
  }: { from: string; states: ReadonlyMap<string, ActionState>; prompt: string | undefined },
): readonly Handoff[] {
  const result = states.get(from)?.result;
  if (!result) return [];
  const { report } = result;
  const { writes } = action;
  return [
    {
      from: { run: run.id, action: from, session: run.details(from).childSession },
      result_summary: (report?.result_summary ?? result.summary).slice(0, LONGEST_SUMMARY),
      evidence: report?.evidence ?? [],
      artifact_refs: [`artifact://${run.id}/${from}`, ...(report?.artifact_refs ?? [])],
      risks: report?.risks ?? [],
      unresolved_issues: report?.unresolved_issues ?? [],
      next_goal: (prompt ?? action.description ?? action.title).slice(0, LONGEST_SUMMARY),
      constraints: writes
        ? [writes.length === 0 ? "Write nothing." : `Write nothing but ${writes.join(", ")}.`]
        : [],
      dependencies: [...action.dependsOn],
    },
  ];
}

function textOf(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value, null, 2) ?? "");
}
