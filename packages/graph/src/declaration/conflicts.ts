import type { Graph, GraphAction } from "./graph.ts";
import { ProtocolError } from "./protocol-error.ts";

/** The whole workspace, and everything else that a declaration may mean. */
const EVERYTHING = "*";
const PATTERN = /[*?[\]{}]/;

/**
 * The path that a resource names, as it is written there: `file:` and `repo://current` are left out, and of a pattern what
 * is before it. `undefined` for what may be anything.
 */
export function pathOfResource(resource: string): string | undefined {
  const [, scheme, rest = ""] = /^(file|repo):(.*)$/is.exec(resource.trim()) ?? [];
  const path = scheme === undefined ? resource.trim() : pathInAddress(scheme.toLowerCase(), rest);
  const parts = path?.replaceAll("\\", "/").split("/") ?? [];
  const pattern = parts.findIndex((part) => PATTERN.test(part));
  const plain = (pattern < 0 ? parts : parts.slice(0, pattern)).join("/");
  return plain === "" || plain.startsWith("~") ? undefined : plain;
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
  return one.some((first) => two.some((second) => overlap(first, second)));
}

function overlap(one: string, two: string): boolean {
  return (
    one === EVERYTHING ||
    two === EVERYTHING ||
    one === two ||
    two.startsWith(`${one}/`) ||
    one.startsWith(`${two}/`)
  );
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
    .map((action) => ({ id: action.id, writes: writesOf(action) }))
    .filter(({ writes }) => writes.length > 0);
  for (const [index, one] of writing.entries())
    for (const two of writing.slice(index + 1)) {
      const isOrdered = before.get(one.id)?.has(two.id) || before.get(two.id)?.has(one.id);
      if (!isOrdered && writesConflict(one.writes, two.writes))
        throw new ProtocolError(
          "graph",
          `${one.id} and ${two.id} would write the same resource, and neither depends on the other`,
          { path: "conflict_resolution" },
        );
    }
}

/** All actions that each one waits for, directly or not. The actions have no cycle. */
function ancestors(actions: readonly GraphAction[]): ReadonlyMap<string, ReadonlySet<string>> {
  const byId = new Map(actions.map((action) => [action.id, action]));
  const known = new Map<string, Set<string>>();
  const open = [...byId.keys()];
  for (let id = open.pop(); id !== undefined; id = open.pop()) {
    if (known.has(id)) continue;
    const { dependsOn = [], when = [] } = byId.get(id) ?? {};
    const direct = [...dependsOn, ...when.map(({ action }) => action)];
    const missing = direct.filter((other) => byId.has(other) && !known.has(other));
    if (missing.length > 0) open.push(id, ...missing);
    else known.set(id, new Set([...direct, ...direct.flatMap((other) => [...(known.get(other) ?? [])])]));
  }
  return known;
}
