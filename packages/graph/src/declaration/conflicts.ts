import type { Graph, GraphAction } from "./graph.ts";
import { ProtocolError } from "./protocol-error.ts";
import { BitSet, inOrder, waitsFor } from "./validate.ts";

/** The whole workspace, and everything else that a declaration may mean. */
const EVERYTHING = "*";
const PATTERN = /[*?[\]{}]/;

/**
 * The path that a resource names, as it is written there: `file:` and `repo://current` are left out, and of a pattern what
 * is before it. `undefined` for what may be anything.
 */
export function pathOfResource(resource: string): string | undefined {
  const path = addressed(resource);
  const parts = path?.replaceAll("\\", "/").split("/") ?? [];
  const pattern = parts.findIndex((part) => PATTERN.test(part));
  const plain = (pattern < 0 ? parts : parts.slice(0, pattern)).join("/");
  return plain === "" || plain.startsWith("~") ? undefined : plain;
}

/** Whether a resource is surely not in the workspace: it names another repository, host or home, or nothing that can be read. */
export function isElsewhere(resource: string): boolean {
  return addressed(resource)?.startsWith("~") ?? true;
}

function addressed(resource: string): string | undefined {
  const [, scheme, rest = ""] = /^(file|repo):(.*)$/is.exec(resource.trim()) ?? [];
  return scheme === undefined ? resource.trim() : pathInAddress(scheme.toLowerCase(), rest);
}

function pathInAddress(scheme: string, rest: string): string | undefined {
  const [, authority, below] = /^\/\/([^/]*)(.*)$/s.exec(rest) ?? [];
  if (authority === undefined) return rest;
  const own = scheme === "repo" ? "current" : "localhost";
  if (authority !== "" && authority.toLowerCase() !== own) return undefined;
  try {
    return decodeURIComponent(scheme === "repo" ? (below ?? "").slice(1) : (below ?? ""));
  } catch {
    return undefined;
  }
}

/**
 * The one spelling of a resource for the schedule: a path in the workspace, or `*` where it may be anything. Two that differ
 * by case or by the form of their letters alone count as one, as for some file systems they are.
 */
export function canonicalResource(resource: string, root?: string): string {
  const path = pathOfResource(resource);
  if (path === undefined) return EVERYTHING;
  const isAbsolute = path.startsWith("/") || /^[a-z]:\//i.test(path);
  const parts = stepsOf(folded(path));
  if (!isAbsolute) return parts?.join("/") || EVERYTHING;
  const above = root === undefined ? undefined : stepsOf(folded(root.replaceAll("\\", "/")));
  if (!parts || !above || above.some((part, index) => parts[index] !== part)) return EVERYTHING;
  return parts.slice(above.length).join("/") || EVERYTHING;
}

function folded(text: string): string {
  return text.normalize("NFKC").toUpperCase().toLowerCase().normalize("NFC");
}

/** The steps of a path without `.` and `..`; `undefined` for one that leads above where it begins. */
function stepsOf(path: string): readonly string[] | undefined {
  const steps: string[] = [];
  for (const part of path.split("/")) {
    if (part === "" || part === ".") continue;
    if (part !== "..") steps.push(part);
    else if (steps.pop() === undefined) return undefined;
  }
  return steps;
}

/** Whether two lists of written resources, each in its one spelling, have one in common: equal, one within the other, or the whole workspace. */
export function writesConflict(one: readonly string[], two: readonly string[]): boolean {
  const [first, second] = [foldersOf(one), foldersOf(two)];
  for (let [i, j] = [0, 0]; ; ) {
    const [a, b] = [first[i], second[j]];
    if (a === undefined || b === undefined) return false;
    if (a.startsWith(b) || b.startsWith(a)) return true;
    // What is within a folder comes right behind it.
    if (a < b) i += 1;
    else j += 1;
  }
}

const FOLDERS = new WeakMap<readonly string[], readonly string[]>();

/** Resources as folders, sorted and none within another: each begins with those that it is in. */
function foldersOf(resources: readonly string[]): readonly string[] {
  const known = FOLDERS.get(resources);
  if (known) return known;
  const folders: string[] = [];
  for (const folder of resources.map((one) => (one === EVERYTHING ? "" : `${one}/`)).toSorted()) {
    const last = folders.at(-1);
    if (last === undefined || !folder.startsWith(last)) folders.push(folder);
  }
  FOLDERS.set(resources, folders);
  return folders;
}

/**
 * Refuses a graph with the policy `conflict_resolution: refuse` in which two actions would write the same resource and
 * neither waits for the other. With the default they run one after the other.
 */
export function assertNoConflict(
  { actions, onConflict }: Graph,
  writesOf: (action: GraphAction) => readonly string[],
): void {
  if (onConflict === "serialize") return;
  const before = ancestors(actions);
  const writing = actions
    .flatMap((action, index) => foldersOf(writesOf(action)).map((folder) => ({ folder, index })))
    .toSorted((one, two) => (one.folder < two.folder ? -1 : one.folder > two.folder ? 1 : 0));
  /** The written folders that the current one is, or is in. */
  const around: typeof writing = [];
  for (const one of writing) {
    while (!one.folder.startsWith(around.at(-1)?.folder ?? "")) around.pop();
    for (const other of around) {
      const isOrdered = before[one.index]?.has(other.index) || before[other.index]?.has(one.index);
      if (isOrdered) continue;
      const ids = [one.index, other.index].toSorted((a, b) => a - b).map((index) => actions[index]?.id);
      throw new ProtocolError(
        "graph",
        `${ids.join(" and ")} would write the same resource, and neither depends on the other`,
        { path: "conflict_resolution" },
      );
    }
    around.push(one);
  }
}

/** By their position, all actions that each one waits for, directly or not. The actions have no cycle. */
function ancestors(actions: readonly GraphAction[]): readonly BitSet[] {
  const positions = new Map(actions.map(({ id }, index) => [id, index]));
  const known = actions.map(() => new BitSet(actions.length));
  for (const action of inOrder(actions)) {
    const all = known[positions.get(action.id) ?? 0];
    for (const other of waitsFor(action)) {
      const position = positions.get(other);
      const above = position === undefined ? undefined : known[position];
      if (position === undefined || !above) continue;
      all?.add(position);
      all?.addAll(above);
    }
  }
  return known;
}
