import { access } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Handlers } from "@reins/ahp";
import { CliError, errorMessage } from "../../../errors.ts";
import { handlersFault, isHandlers, unknownHandlers } from "./handlers.ts";

const NEXT = "See the example in: reins ahp serve --help";

/** Handlers from a module, and the members of theirs that nobody will ever call. */
interface LoadedHandlers {
  readonly handlers: Handlers;
  readonly unknown: readonly string[];
}

/** Loads a handler module: its default export or its `handlers`, an object or a function that makes one. */
export async function loadHandlers(file: string): Promise<LoadedHandlers> {
  const path = resolve(file);
  const exported = await exportOf(path);
  const handlers: unknown =
    typeof exported === "function"
      ? await made(() => Reflect.apply(exported, undefined, []), path)
      : exported;
  if (!isHandlers(handlers)) {
    throw new CliError(`The handlers of ${path} cannot be used: ${handlersFault(handlers)}.`, { next: NEXT });
  }
  return { handlers, unknown: unknownHandlers(handlers) };
}

async function exportOf(path: string): Promise<unknown> {
  const module = await load(path);
  const exported: unknown = module.default ?? module.handlers;
  if (exported !== undefined && exported !== null) return exported;
  throw new CliError(`${path} has neither a default export nor one named "handlers".`, { next: NEXT });
}

async function load(path: string): Promise<Record<string, unknown>> {
  try {
    await access(path);
  } catch (error) {
    throw new CliError(`There is no handler module ${path}.`, {
      next: "Check the path after --handlers; it is relative to the current folder.",
      cause: error,
    });
  }
  try {
    return await import(pathToFileURL(path).href);
  } catch (error) {
    throw new CliError(`The handler module ${path} cannot be loaded: ${errorMessage(error)}`, {
      next: "Correct the module; --verbose shows where. TypeScript must be erasable: no enum, no namespace, no parameter property.",
      cause: error,
    });
  }
}

async function made(make: () => unknown, path: string): Promise<unknown> {
  try {
    return await make();
  } catch (error) {
    throw new CliError(`The function that ${path} exports failed: ${errorMessage(error)}`, {
      next: "Correct the module; --verbose shows where.",
      cause: error,
    });
  }
}
