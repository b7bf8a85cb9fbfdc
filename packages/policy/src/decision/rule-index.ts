import type { DecisionInput } from "../action.ts";
import type { Subject } from "../subject.ts";
import type { CompiledRule } from "./compiled-rule.ts";

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
