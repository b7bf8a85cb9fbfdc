import { glob } from "node:fs/promises";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { UsageError } from "./main.ts";

/** Something that a file of a package exports by default and a person runs by name. */
export interface Runnable {
  name: string;
  title: string;
  run(context: never): Promise<unknown>;
}

/** Loads `packages/*\/<kind>/*.<kind>.ts`, in the order of their names. */
export async function discover<Kind extends Runnable>(
  root: string,
  kind: "bench" | "torture",
): Promise<Kind[]> {
  const found: Kind[] = [];
  for await (const path of glob(`packages/*/${kind}/*.${kind}.ts`, { cwd: root })) {
    const module: { default?: Kind } = await import(pathToFileURL(join(root, path)).href);
    if (!isRunnable(module.default)) {
      throw new Error(
        `${path} has to export { name, title, run } by default; see scripts/${kind}/${kind}.ts.`,
      );
    }
    found.push(module.default);
  }
  return found.sort((left, right) => left.name.localeCompare(right.name, "en"));
}

/** Those that a person asked for: by exact name if there is one, else by a part of it; all without a filter. */
export function select<Kind extends Runnable>(all: readonly Kind[], filters: readonly string[]): Kind[] {
  if (filters.length === 0) return [...all];
  const chosen = new Set<Kind>();
  for (const filter of filters) {
    const exact = all.filter(({ name }) => name === filter);
    const matching = exact.length > 0 ? exact : all.filter(({ name }) => name.includes(filter));
    if (matching.length === 0) {
      const names = all.map(({ name }) => name).join(", ") || "none";
      throw new UsageError(`Nothing is called "${filter}". There is: ${names}.`);
    }
    for (const one of matching) chosen.add(one);
  }
  return [...chosen];
}

function isRunnable(value: unknown): value is Runnable {
  return (
    typeof value === "object" &&
    value !== null &&
    "name" in value &&
    typeof value.name === "string" &&
    "title" in value &&
    typeof value.title === "string" &&
    "run" in value &&
    typeof value.run === "function"
  );
}
