import type { Search } from "../path/credentials.ts";
import type { Statement } from "./syntax.ts";
import { isShellVariable } from "./variable.ts";

/** A word after the shell has expanded it. */
export interface Value {
  /** `null` when it is only known at run time. */
  readonly text: string | null;
  /** The glob that `text` is, quoted characters escaped. */
  readonly pattern?: string | undefined;
  /** How it starts, as far as that is known. */
  readonly start: string;
  /** Whether it may turn out to be several words, or none. */
  readonly many: boolean;
  /** Whether it stands for anything below the folder it names. */
  readonly deep?: boolean | undefined;
  /** Where that is not everything, but what has certain names: globs of these. */
  readonly names?: readonly string[] | undefined;
  /** Where it stands for what is found below the folder: what is looked for. */
  readonly search?: Search | undefined;
  /** More paths that it may turn out to be, if they are there. */
  readonly also?: readonly string[] | undefined;
  /** Whether it is a number for certain, so that arithmetic on it runs nothing. */
  readonly isNumber?: boolean | undefined;
  /** Whether it is a pipe made by the shell, and no file. */
  readonly isPipe?: boolean | undefined;
}

/** A word that is known. */
export function knownValue(text: string): Value {
  return { text, start: text, many: false };
}

/** A word of which nothing is known. */
export function unknownValue(many: boolean, start = ""): Value {
  return { text: null, start, many };
}

/** A number that is only known at run time. */
export const SOME_NUMBER: Value = { text: null, start: "", many: false, isNumber: true };

/** Whether it is a device that one can read from without end. */
export function isEndless({ text }: Value): boolean {
  return text !== null && /^\/dev\/(?:zero|full|u?random|arandom)$/.test(text);
}

/** A map that is copied at no cost: the entries are shared until one side changes them. */
export class CopiedMap<Value> implements Iterable<[string, Value]> {
  #entries: Map<string, Value>;
  #isShared = false;

  constructor(entries: Iterable<readonly [string, Value]> = []) {
    this.#entries = new Map(entries);
  }

  get size(): number {
    return this.#entries.size;
  }

  get(name: string): Value | undefined {
    return this.#entries.get(name);
  }

  has(name: string): boolean {
    return this.#entries.has(name);
  }

  set(name: string, value: Value): void {
    this.#own().set(name, value);
  }

  delete(name: string): void {
    if (this.#entries.has(name)) this.#own().delete(name);
  }

  keys(): IterableIterator<string> {
    return this.#entries.keys();
  }

  values(): IterableIterator<Value> {
    return this.#entries.values();
  }

  [Symbol.iterator](): IterableIterator<[string, Value]> {
    return this.#entries.entries();
  }

  copy(): CopiedMap<Value> {
    const copy = new CopiedMap<Value>();
    copy.#entries = this.#entries;
    copy.#isShared = true;
    this.#isShared = true;
    return copy;
  }

  /** Whether nothing was changed on either side since one was copied from the other. */
  isSame(other: CopiedMap<Value>): boolean {
    return this.#entries === other.#entries;
  }

  #own(): Map<string, Value> {
    if (this.#isShared) this.#entries = new Map(this.#entries);
    this.#isShared = false;
    return this.#entries;
  }
}

/** The folders a shell may be in; `undefined` when that is not known. */
export type Folders = readonly string[] | undefined;

/** More possible folders than this are as good as not known. */
const FOLDER_LIMIT = 4;

/** A path that is not what it was when the script began: what lies below it may be links to anywhere. */
export interface Moved {
  readonly path: string;
  /** Whether it may be such a link itself. */
  readonly itself: boolean;
}

/** State of a shell at one point of a script: variables, functions, working folder, options. */
export class Scope {
  folders: Folders;
  readonly home: string;
  readonly environment: Readonly<Record<string, string>>;
  variables: CopiedMap<Value>;
  functions: CopiedMap<Statement>;
  /** `$1`, `$2` and so on; `undefined` when they are not known. */
  positional: readonly Value[] | undefined;
  /** Whether programs may no longer be the ones their names say, and why. */
  tainted: string | undefined;
  /** Whether words are no longer split and globbed as usual. */
  unusualWords = false;
  /** Shared with every copy: what a subshell or another process does to files stays done. */
  moved: Moved[] = [];
  /** Shared with every copy, because a trap may run at any later time. */
  traps: Traps = { texts: [], changed: new Set(), moves: false };
  /** Variables that the function which is run has declared, and that its caller has under the same names. */
  declared: Set<string> = new Set();
  /** Variables that may be lists, in this shell or in one that it began. */
  lists: Set<string> = new Set();

  constructor(start: {
    folders: Folders;
    home: string;
    environment?: Readonly<Record<string, string>> | undefined;
  }) {
    this.folders = start.folders;
    this.home = start.home;
    this.environment = start.environment ?? {};
    this.variables = new CopiedMap();
    this.functions = new CopiedMap();
  }

  /** Gives a variable a value. Some variables change what everything after them does. */
  set(name: string, value: Value): void {
    this.variables.set(name, value);
    this.traps.changed.add(name);
    if (!isShellVariable(name)) return;
    this.tainted ??= `${name} is set, which may change what programs do`;
    if (name === "IFS" || name === "GLOBIGNORE" || name === "BASHOPTS") this.unusualWords = true;
  }

  copy(): Scope {
    const copy = new Scope(this);
    copy.variables = this.variables.copy();
    copy.functions = this.functions.copy();
    copy.positional = this.positional;
    copy.tainted = this.tainted;
    copy.unusualWords = this.unusualWords;
    copy.moved = this.moved;
    copy.lists = this.lists;
    copy.traps = this.traps;
    copy.declared = this.declared;
    return copy;
  }

  /** The scope of a program that is started from here: it sees no function, and perhaps not the variables. */
  child(): Scope {
    const child = this.copy();
    child.functions = new CopiedMap();
    // Which of them are exported is not kept track of.
    child.variables = new CopiedMap([...this.variables.keys()].map((name) => [name, unknownValue(true)]));
    child.positional = [];
    return child;
  }

  /** Keeps what a trap runs. What changes from now on may be different by then. */
  addTrap(text: Value): void {
    if (this.traps.texts.length === 0) {
      this.traps.changed.clear();
      this.traps.moves = false;
    }
    this.traps.texts.push(text);
  }

  /** Makes variables unknown that may have changed, or may be others. */
  forget(names: Iterable<string>): void {
    for (const name of names) if (this.variables.has(name)) this.variables.set(name, unknownValue(true));
  }

  /** Makes this what is known when either this or the other may have happened. */
  join(other: Scope): void {
    this.folders = union(this.folders, other.folders);
    for (const name of namesOf(this.variables, other.variables)) {
      const [mine, theirs] = [this.variables.get(name), other.variables.get(name)];
      const isSame = mine !== undefined && theirs !== undefined && isSameValue(mine, theirs);
      const isNumber = [mine, theirs].every((value) => value === undefined || isNumeric(value));
      if (!isSame) this.variables.set(name, isNumber ? SOME_NUMBER : unknownValue(true));
    }
    for (const name of namesOf(this.functions, other.functions)) {
      const [mine, theirs] = [this.functions.get(name), other.functions.get(name)];
      if (mine === theirs) continue;
      this.tainted ??= `${name} may or may not be a function`;
      if (mine === undefined && theirs !== undefined) this.functions.set(name, theirs);
    }
    this.tainted ??= other.tainted;
    this.unusualWords ||= other.unusualWords;
    if (other.positional !== this.positional) this.positional = undefined;
  }

  /** Whether nothing that decides the meaning of words differs. */
  isLike(other: Scope): boolean {
    if (this.folders?.join("\0") !== other.folders?.join("\0")) return false;
    if (this.variables.isSame(other.variables)) return true;
    if (this.variables.size !== other.variables.size) return false;
    return [...this.variables].every(([name, value]) => {
      const theirs = other.variables.get(name);
      return theirs !== undefined && (isSameValue(value, theirs) || isSameUnknown(value, theirs));
    });
  }
}

/** What runs when a signal comes or the shell ends, and what has changed by then. */
export interface Traps {
  readonly texts: Value[];
  readonly changed: Set<string>;
  moves: boolean;
}

/** The names of either, where the two may differ. */
function namesOf<T>(left: CopiedMap<T>, right: CopiedMap<T>): ReadonlySet<string> {
  return left.isSame(right) ? new Set() : new Set([...left.keys(), ...right.keys()]);
}

/** The folders of either. */
export function union(left: Folders, right: Folders): Folders {
  if (left === undefined || right === undefined) return undefined;
  const all = [...new Set([...left, ...right])];
  return all.length > FOLDER_LIMIT ? undefined : all;
}

function isNumeric({ text, isNumber }: Value): boolean {
  return isNumber === true || /^-?\d+$/.test(text ?? "");
}

function isSameValue(left: Value, right: Value): boolean {
  return left.text !== null && left.text === right.text && left.pattern === right.pattern;
}

function isSameUnknown(left: Value, right: Value): boolean {
  return left.text === null && right.text === null && left.isNumber === right.isNumber;
}
