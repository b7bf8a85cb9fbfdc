import type { DecisionInput } from "../action.ts";
import type { Clause } from "../conditions/clauses.ts";
import { compileCondition } from "../conditions/compile.ts";
import { plainNames } from "../conditions/pattern.ts";
import type { Rule, ToolDeclarations } from "../constitution/constitution.ts";
import type { Subject } from "../subject.ts";

/** A rule made ready. */
export interface CompiledRule {
  readonly index: number;
  readonly rule: Rule;
  readonly clauses: readonly Clause[];
  readonly matches: (input: DecisionInput) => boolean;
  /** The tools it can be about; `undefined` means any. */
  readonly tools: readonly string[] | undefined;
  /** The folders it waits for, if it does. */
  readonly trigger: PathTrigger | undefined;
}

/** Makes a rule ready. */
export function compileRule(
  rule: Rule,
  index: number,
  tools: ToolDeclarations,
  keyOf: (sequence: object) => string,
): CompiledRule {
  const clauses = compileCondition(rule.condition, { tools, permits: permits(rule) }, keyOf);
  const names = rule.condition.tool_name_matches;
  return {
    index,
    rule,
    clauses,
    matches: conjunction(clauses),
    tools: names && plainNames(names),
    trigger: pathTriggerOf(rule),
  };
}

/** Whether a rule allows an action as it is. A modified action is decided again, so `modify` does not count. */
export function permits({ verdict }: Pick<Rule, "verdict">): boolean {
  return verdict === "allowed";
}

/** All clauses in one function; the usual few are written out, which spares a loop on every rule. */
function conjunction(clauses: readonly Clause[]): (input: DecisionInput) => boolean {
  const [first, second, third, ...more] = clauses.map(({ holds }) => holds);
  if (!first) return () => true;
  if (!second) return first;
  if (!third) return (input) => first(input) && second(input);
  if (more.length === 0) return (input) => first(input) && second(input) && third(input);
  return (input) => first(input) && second(input) && third(input) && more.every((holds) => holds(input));
}

/** The folders under one of which a path must lie for a rule to match, each as its segments. */
type PathTrigger = readonly (readonly string[])[];

const GLOB = /[*?[\]{}()!+@\\]/;

/**
 * The folders a rule waits for. A rule that asks for any path matching certain globs cannot match before some path lies
 * under the part of a glob that is written out. `undefined` when a rule has no such condition.
 */
function pathTriggerOf({ condition }: Rule): PathTrigger | undefined {
  for (const quantified of [condition.paths, condition.reads, condition.writes]) {
    const match = quantified?.any?.match;
    if (match === undefined) continue;
    const folders = (typeof match === "string" ? [match] : match).map(literalFolder);
    if (folders.every((folder) => folder.length > 0 && folder.some((segment) => segment !== "")))
      return folders;
  }
  return undefined;
}

/** The segments of a glob before the first that is not plain text. An absolute one begins with an empty segment. */
function literalFolder(glob: string): string[] {
  const segments = glob.split("/");
  const first = segments.findIndex(
    (segment, index) =>
      GLOB.test(segment) || segment === "." || segment === ".." || (segment === "" && index > 0),
  );
  return first < 0 ? segments : segments.slice(0, first);
}

/** A folder on the way to rules that wait for paths under it. */
interface Folder {
  readonly folders: Map<string, Folder>;
  readonly rules: CompiledRule[];
  /** Those that wait for something below it; put together when they are first asked for. */
  below: readonly CompiledRule[] | undefined;
}

/** The rules that can be about one tool for one subject. */
interface Candidates {
  /** Those that any action can match, in order. */
  readonly always: readonly CompiledRule[];
  /** Those that wait for a path. */
  readonly byFolder: Folder;
}

/**
 * Finds the first rule that matches, in the order of the file, looking at few: not at rules about other tools, nor at
 * those whose conditions on the subject fail (a subject does not change, so that is found out once), nor at those that
 * wait for a path in another folder.
 */
export class RuleIndex {
  readonly #rules: readonly CompiledRule[];
  readonly #tools: ReadonlySet<string>;
  readonly #bySubject = new WeakMap<Subject, Map<string, Candidates>>();

  constructor(rules: readonly CompiledRule[]) {
    this.#rules = rules;
    this.#tools = new Set(rules.flatMap(({ tools }) => tools ?? []));
  }

  /** The first rule that matches. */
  first(input: DecisionInput): CompiledRule | undefined {
    const { always, byFolder } = this.#candidates(input);
    const waiting = awaited(byFolder, input);
    let [next, awaitedNext] = [0, 0];
    for (;;) {
      const plain = always[next];
      const path = waiting[awaitedNext];
      const rule = path && (!plain || path.index < plain.index) ? path : plain;
      if (!rule || rule.matches(input)) return rule;
      if (rule === plain) next += 1;
      else awaitedNext += 1;
    }
  }

  #candidates(input: DecisionInput): Candidates {
    const { subject, action } = input;
    const tool = this.#tools.has(action.tool) ? action.tool : "";
    const known = this.#bySubject.get(subject) ?? new Map<string, Candidates>();
    this.#bySubject.set(subject, known);
    const candidates = known.get(tool) ?? this.#find(tool, input);
    known.set(tool, candidates);
    return candidates;
  }

  #find(tool: string, input: DecisionInput): Candidates {
    const rules = this.#rules.filter(
      ({ tools, clauses }) =>
        (tools === undefined || (tool !== "" && tools.includes(tool))) &&
        clauses.every(({ subjectOnly, holds }) => !subjectOnly || holds(input)),
    );
    const byFolder = newFolder();
    for (const rule of rules)
      for (const segments of rule.trigger ?? []) folderAt(byFolder, segments).rules.push(rule);
    return { always: rules.filter(({ trigger }) => trigger === undefined), byFolder };
  }
}

const NONE: readonly CompiledRule[] = [];

/** The rules that wait for a path this action has, in order. */
function awaited(byFolder: Folder, { action }: DecisionInput): readonly CompiledRule[] {
  if (byFolder.folders.size === 0) return NONE;
  let found: CompiledRule[] | undefined;
  for (const effect of action.effects) {
    if (effect.kind !== "read" && effect.kind !== "write") continue;
    found = gather(byFolder, effect.path, effect.deep, found);
    if (effect.inside !== undefined) found = gather(byFolder, effect.inside, effect.deep, found);
  }
  return found ? found.sort((left, right) => left.index - right.index) : NONE;
}

function gather(
  start: Folder,
  path: string,
  deep: true | undefined,
  found: CompiledRule[] | undefined,
): CompiledRule[] | undefined {
  // The root of a session has no name, and that of the file system an empty one.
  if (path === "") return deep ? joined(found, below(start)) : found;
  const length = path === "/" ? 0 : path.length;
  let all = found;
  let folder: Folder | undefined = start;
  for (let from = 0; folder && from <= length; ) {
    const slash = path.indexOf("/", from);
    const end = slash < 0 ? path.length : slash;
    folder = folder.folders.get(path.slice(from, end));
    if (folder) all = joined(all, folder.rules);
    from = end + 1;
  }
  return deep && folder ? joined(all, below(folder)) : all;
}

function joined(
  found: CompiledRule[] | undefined,
  more: readonly CompiledRule[],
): CompiledRule[] | undefined {
  if (more.length === 0) return found;
  return found ? found.concat(more) : [...more];
}

/** All rules that wait for something below a folder. */
function below(folder: Folder): readonly CompiledRule[] {
  folder.below ??= [...new Set([...folder.folders.values()].flatMap((one) => [...one.rules, ...below(one)]))];
  return folder.below;
}

function folderAt(start: Folder, segments: readonly string[]): Folder {
  let folder = start;
  for (const segment of segments) {
    const next = folder.folders.get(segment) ?? newFolder();
    folder.folders.set(segment, next);
    folder = next;
  }
  return folder;
}

function newFolder(): Folder {
  return { folders: new Map(), rules: [], below: undefined };
}
