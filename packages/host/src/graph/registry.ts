import { chooseExecutor, type Executor, type GraphAction, misfit, ProtocolError } from "@reins/graph";
import { subjectIn } from "../control/control-point.ts";
import { type RunExecutor, reasonOf } from "./executor.ts";
import type { RunPlace } from "./run-place.ts";
import { noModel } from "./runtime-executors.ts";

/** The executors that a session may use. */
export class ExecutorRegistry {
  readonly #executors: readonly RunExecutor[];
  readonly #meant: (
    name: string,
    input: GraphAction["input"],
  ) => { readonly tool: string; readonly input: GraphAction["input"] };

  readonly #bounded: ((tools: readonly RunExecutor[]) => RunExecutor) | undefined;

  constructor(
    executors: readonly RunExecutor[],
    /** The executor that another name stands for. */
    meant: (
      name: string,
      input: GraphAction["input"],
    ) => { readonly tool: string; readonly input: GraphAction["input"] },
    /** Does in a turn of a model what an action says in words; absent where there is no model. */
    bounded: ((tools: readonly RunExecutor[]) => RunExecutor) | undefined,
  ) {
    this.#executors = executors;
    this.#meant = meant;
    this.#bounded = bounded;
  }

  /** Those that not every use is blocked for. */
  allowedIn(place: RunPlace): readonly RunExecutor[] {
    return this.#executors.filter((executor) => mayUse(place, executor));
  }

  /** Whether there is a tool of a name. */
  hasTool(name: string): boolean {
    const { tool } = this.#meant(name, undefined);
    return this.#executors.some((one) => one.type === "tool" && one.name === tool);
  }

  /** The executor of an action and its input as that knows it; throws a {@link ProtocolError} where none fits. */
  choose(
    action: GraphAction,
    place: RunPlace,
  ): { readonly executor: RunExecutor; readonly input: GraphAction["input"] } {
    const { target, type } = action.executor;
    const isNamed = this.#executors.some(({ name }) => name === target);
    const meant =
      isNamed || (type !== undefined && type !== "tool")
        ? { tool: target, input: action.input }
        : this.#meant(target, action.input);
    const isWords = type === "tool" && action.prompt !== undefined && action.input === undefined;
    if (isWords) return { executor: this.#wordsFor(action, meant.tool, place), input: undefined };
    const asked = { id: action.id, executor: { ...action.executor, target: meant.tool } };
    // One that is named is decided on the record, when it is used.
    const isOffered = (one: Executor) => target !== "auto" || mayUse(place, one);
    const chosen = chooseExecutor(asked, this.#candidates(action), isOffered);
    const executor = this.#executors.find((one) => one.name === chosen.name && one.type === chosen.type);
    if (!executor) throw new ProtocolError("executor", `there is no executor ${chosen.name}`);
    return { executor, input: meant.input };
  }

  /** A turn that may use the tools that an action names or describes. */
  #wordsFor(action: GraphAction, target: string, place: RunPlace): RunExecutor {
    if (!this.#bounded) throw noModel(action.id);
    const { capabilities } = action.executor;
    // Throws where none fits.
    chooseExecutor({ id: action.id, executor: { type: "tool", target, capabilities } }, this.#executors);
    const tools = this.#executors.filter(
      (one) =>
        one.type === "tool" &&
        (target === "auto" ? fits(one, capabilities) : one.name === target) &&
        mayUse(place, one),
    );
    return this.#bounded(tools);
  }

  /** Without a type or a name, an action that says what to do in words is for an agent; others are for tools. */
  #candidates({ executor: { type, target, capabilities }, input, prompt }: GraphAction): readonly Executor[] {
    if (type !== undefined || target !== "auto" || capabilities.length > 0) return this.#executors;
    const wanted = prompt && !input ? "agent" : "tool";
    return this.#executors.filter((one) => one.type === wanted);
  }
}

function fits({ capabilities }: Executor, wanted: readonly string[]): boolean {
  return (
    wanted.length === 0 ||
    wanted.some((one) => capabilities.some((has) => has === one || has.startsWith(`${one}.`)))
  );
}

/** Throws a {@link ProtocolError} if an executor cannot take an input. */
export function checkInput(
  executor: RunExecutor,
  input: GraphAction["input"],
  path: string,
  { hasReferences = false }: { readonly hasReferences?: boolean } = {},
): void {
  try {
    // What references lead to is not known yet.
    if (!hasReferences) executor.check(input ?? {});
  } catch (error) {
    throw new ProtocolError("malformed", reasonOf(error), { path, cause: error });
  }
  const fault = misfit(executor.input, input ?? {});
  if (fault !== undefined) throw new ProtocolError("malformed", `${executor.name}: ${fault}`, { path });
}

/** Whether the policy leaves a session any use of an executor. */
function mayUse(place: RunPlace, executor: Executor & Partial<Pick<RunExecutor, "ruleName">>): boolean {
  const { harness } = place.context;
  const { descent } = place;
  const name = executor.ruleName ?? executor.name;
  if (descent?.tools?.includes(name) === false) return false;
  try {
    return harness.supervisor.mayUse(name, subjectIn(place, "performed"));
  } catch {
    return false;
  }
}
