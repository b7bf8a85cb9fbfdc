import { existsSync } from "node:fs";
import { leases } from "../leases.ts";
import { StoreError } from "../store-error.ts";
import type { Operations, Tables } from "../tables.ts";

/** Tables as a thread is told of them. */
export interface Part {
  readonly name: string;
  /** The address of their module. */
  readonly module: string;
  readonly settings: unknown;
}

/** All tables of a store: its own and those that packages bring. */
export function partsOf(tables: readonly Tables<Operations, Operations>[]): readonly Part[] {
  const parts = [leases, ...tables].map(({ name, module, settings }) => ({
    name,
    module: addressOf(new URL(module)),
    settings,
  }));
  const twice = parts.find(({ name }, index) => parts.findIndex((other) => other.name === name) < index);
  if (twice) throw new StoreError("invalid", `there are two tables called "${twice.name}"`);
  return parts;
}

/** Where a module is, whether its package runs from source or was built. */
function addressOf(module: URL): string {
  if (module.protocol === "file:" && module.pathname.endsWith(".ts") && !existsSync(module))
    module.pathname = module.pathname.replace(/\.ts$/, ".js");
  return module.href;
}
