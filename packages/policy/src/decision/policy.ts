import { createBLAKE3 } from "hash-wasm";
import type { Counters, DecisionInput } from "../action.ts";
import { type Clause, compilePlain, many } from "../conditions/conditions.ts";
import { milliseconds, type Whose } from "../constitution/condition.ts";
import {
  type ConstitutionFile,
  type Limit,
  type RuleVerdict,
  rulesOf,
} from "../constitution/constitution.ts";
import type { ConstitutionText } from "../constitution/load.ts";
import type { Subject } from "../subject.ts";
import {
  argumentPathsIn,
  type CompiledRule,
  compileRule,
  isAboutAdvice,
  names,
  permits,
  verdictOf,
} from "./rules.ts";
import type { PolicyHashes, PolicyVerdict } from "./verdict.ts";

/** What a verdict says when no rule matched. */
export const NO_RULE = "no matching policy rule";
/** What it says of what no tool does, where no rule names an event: such rules are about tools, as HAAK's are. */
const TOOLS_ONLY = "the constitution is about tools alone";
const TOOLLESS: ReadonlySet<string> = new Set(["session_start", "pre_prompt"]);
/** Events that ask for advice and touch nothing: rules that name events are about them, and those that block. */
const ADVICE: ReadonlySet<string> = new Set([
  "idle",
  "context_perception",
  "memory_recall",
  "planning",
  "reasoning",
  "rate_limit",
  "confirmation",
  "intent_detection",
]);

/** A constitution made ready to decide. Deciding is pure: the same input gets the same verdict, then and now. */
export class Policy {
  readonly file: ConstitutionFile;
  readonly hashes: PolicyHashes;
  /** What it was made from. */
  readonly text: ConstitutionText;
  /** What must be counted for the rules that ask about earlier actions. */
  readonly sequences: readonly Sequence[];
  readonly rules: readonly CompiledRule[];
  /** The limits, each with which actions count against it. */
  readonly limits: readonly { readonly limit: Limit; readonly applies: (input: DecisionInput) => boolean }[];
  /** The members of the arguments that rules look at, by dotted path; the others need not be kept to decide again. */
  readonly argumentPaths: readonly string[];
  /** Whether a rule is about the mode of a session: otherwise a verdict is the same in all of them. */
  readonly readsMode: boolean;
  readonly #index: RuleIndex;
  /** The rules that are about advice: those that name events, and those that block. */
  readonly #adviceIndex: RuleIndex;
  readonly #verdicts: readonly PolicyVerdict[];
  readonly #noRule: PolicyVerdict;
  /** The verdict on what no tool does and no rule is about. */
  readonly #toolless: PolicyVerdict;
  /** The verdict on a request for advice that no rule is about. */
  readonly #advice: PolicyVerdict;

  constructor(file: ConstitutionFile, text: ConstitutionText) {
    this.file = file;
    this.text = text;
    const hashes = { constitution_hash: blake3Hex(text.prose), rules_hash: blake3Hex(text.rules) };
    this.hashes = hashes;
    const sequences: Sequence[] = [];
    const rules = rulesOf(file);
    const counted = new Map<string, number>();
    this.rules = rules.map((rule, index) => {
      const keys = new Map<object, string>();
      for (const sequence of [...many(rule.condition.count), ...many(rule.condition.after)]) {
        // Numbered on, because two rules may have one name and what they ask about must not count as one.
        const number = counted.get(rule.name) ?? 0;
        counted.set(rule.name, number + 1);
        const key = `${rule.name}#${number}`;
        keys.set(sequence, key);
        const within = sequence.within === undefined ? undefined : milliseconds(sequence.within);
        sequences.push({
          key,
          by: sequence.by,
          within,
          clauses: compilePlain(sequence.of, { tools: file.tools, permits: permits(rule) }),
        });
      }
      return compileRule(rule, index, file.tools, (sequence) => keys.get(sequence) ?? "");
    });
    this.sequences = sequences;
    this.limits = file.limits.map((limit) => {
      const clauses = compilePlain(limit.condition, { tools: file.tools, permits: false });
      return { limit, applies: (input) => clauses.every(({ holds }) => holds(input)) };
    });
    this.argumentPaths = argumentPathsIn(file);
    this.readsMode = rules.some(({ condition }) => names(condition, "mode"));
    this.#index = new RuleIndex(this.rules);
    this.#verdicts = rules.map((rule) => verdictOf(rule, hashes));
    this.#noRule = { verdict: "blocked", reason: NO_RULE, rule: undefined, ...hashes };
    this.#adviceIndex = new RuleIndex(this.rules.filter(isAboutAdvice));
    this.#advice = { verdict: "allowed", reason: "no rule is about this event", rule: undefined, ...hashes };
    this.#toolless = rules.some(({ condition }) => names(condition, "event"))
      ? this.#noRule
      : { verdict: "allowed", reason: TOOLS_ONLY, rule: undefined, ...hashes };
  }

  /**
   * The verdict on an action: that of the first rule that matches, and blocked when none does. Rules of which none names
   * an event are about tools alone: under them sessions begin and prompts pass where no rule says otherwise.
   */
  decide(input: DecisionInput): PolicyVerdict {
    const isAdvice = ADVICE.has(input.event_type);
    const rule = (isAdvice ? this.#adviceIndex : this.#index).first(input);
    const verdict = rule && this.#verdicts[rule.index];
    if (verdict) return verdict;
    if (isAdvice) return this.#advice;
    return TOOLLESS.has(input.event_type) ? this.#toolless : this.#noRule;
  }

  /** The rules that can decide on an event, in order. */
  rulesAbout(event_type: string): readonly CompiledRule[] {
    return ADVICE.has(event_type) ? this.rules.filter(isAboutAdvice) : this.rules;
  }
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

const NO_RULES: readonly CompiledRule[] = [];

/** The rules that wait for a path this action has, in order. */
function awaited(byFolder: Folder, { action }: DecisionInput): readonly CompiledRule[] {
  if (byFolder.folders.size === 0) return NO_RULES;
  let found: CompiledRule[] | undefined;
  for (const effect of action.effects) {
    if (effect.kind !== "read" && effect.kind !== "write") continue;
    // Where it leads is only known at run time, so that it may be any of those folders.
    if (effect.place === "unknown")
      return below(byFolder).toSorted((left, right) => left.index - right.index);
    found = rulesAt(byFolder, effect.path, effect.deep, found);
    if (effect.inside !== undefined) found = rulesAt(byFolder, effect.inside, effect.deep, found);
  }
  return found ? found.sort((left, right) => left.index - right.index) : NO_RULES;
}

function rulesAt(
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

/** Earlier actions that a rule asks about: of a kind, by a subject, within a time. */
export interface Sequence {
  readonly key: string;
  readonly by: Whose;
  /** Milliseconds; without it, since the beginning. */
  readonly within: number | undefined;
  readonly clauses: readonly Clause[];
}

/** Whether an action with this verdict happens, as it is or modified. */
export function permitsAction(verdict: RuleVerdict): boolean {
  return verdict === "allowed" || verdict === "modify";
}

/** The times at which something of a kind was done, oldest first. */
type Times = number[];

/** How many times are kept of one kind by one doer; counts beyond it stay at it. */
const MAX_KEPT = 10_000;

/**
 * What subjects did, as far as a constitution's sequences ask. An action counts from the moment it is allowed, so
 * calls in flight are counted; one that was blocked never is.
 */
export class History {
  readonly #sequences: readonly Sequence[];
  readonly #times = new Map<string, Times>();

  constructor(sequences: readonly Sequence[]) {
    this.#sequences = sequences;
  }

  /** Counts an action that was allowed. */
  note(input: DecisionInput): void {
    for (const place of this.#placesOf(input)) {
      const times = this.#times.get(place) ?? [];
      // A clock that was set back must not put them out of order.
      times.splice(times.findLastIndex((time) => time <= input.at) + 1, 0, input.at);
      if (times.length > MAX_KEPT) times.shift();
      this.#times.set(place, times);
    }
  }

  /** Uncounts an action that was not allowed after all. */
  takeBack(input: DecisionInput): void {
    for (const place of this.#placesOf(input)) {
      const times = this.#times.get(place) ?? [];
      const index = times.lastIndexOf(input.at);
      if (index >= 0) times.splice(index, 1);
    }
  }

  /** How often each sequence has come to pass for a subject, at a time. */
  counters(subject: Subject, at: number): Counters {
    if (this.#sequences.length === 0) return NO_COUNTERS;
    const counters: Record<string, number> = {};
    for (const { key, by, within } of this.#sequences) {
      const times = this.#times.get(`${key}\n${doer(subject, by)}`);
      if (times) counters[key] = within === undefined ? times.length : countSince(times, at - within);
    }
    return counters;
  }

  /** Under which names an action counts. */
  #placesOf(input: DecisionInput): string[] {
    const counting = this.#sequences.filter(({ clauses }) => clauses.every(({ holds }) => holds(input)));
    return counting.map(({ key, by }) => `${key}\n${doer(input.subject, by)}`);
  }
}

const NO_COUNTERS: Counters = Object.freeze({});

function doer(subject: Subject, by: Whose): string {
  // Names are the tenant's own: two tenants may both have a user "ann".
  return `${subject.tenant}\n${by === "tenant" ? "" : subject[by]}`;
}

/** How many of the times, which are in order, are not before one. */
function countSince(times: Times, since: number): number {
  let [low, high] = [0, times.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((times[middle] ?? 0) < since) low = middle + 1;
    else high = middle;
  }
  return times.length - low;
}

const hasher = await createBLAKE3();

/** BLAKE3-256 as 64 lower-case hexadecimal digits. One hasher serves all, in one step, so calls cannot mix. */
export function blake3Hex(data: string | Uint8Array): string {
  return hasher.init().update(data).digest("hex");
}
