import { access } from "node:fs/promises";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Handlers } from "@reins/ahp";
import { errorMessage } from "@reins/kit";
import { CliError } from "../../errors.ts";
import type { Log } from "../../log.ts";

const NEXT = "See the example in: reins ahp serve --help";

interface LoadedHandlers {
  readonly handlers: Handlers;
  readonly unknown: readonly string[];
}

/** Loads a handler module: its default export or its `handlers`, an object or a function that returns one. */
export async function loadHandlers(file: string): Promise<LoadedHandlers> {
  const path = resolve(file);
  const exported = await exportOf(path);
  const handlers: unknown =
    typeof exported === "function"
      ? await made(() => Reflect.apply(exported, undefined, []), path)
      : exported;
  if (!isHandlers(handlers)) {
    throw new CliError(`The handlers of ${path} cannot be used: ${handlersProblem(handlers)}.`, {
      next: NEXT,
    });
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

/** The type makes the list complete. */
const NAMES: Readonly<Record<keyof Handlers, true>> = {
  event: true,
  notification: true,
  query: true,
  idle: true,
  context_perception: true,
  memory_recall: true,
  planning: true,
  reasoning: true,
  rate_limit: true,
  confirmation: true,
  intent_detection: true,
};

function isHandlers(value: unknown): value is Handlers {
  return handlersProblem(value) === undefined;
}

function handlersProblem(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return "they are not an object";
  if (member(value, "event") === undefined) return 'they have no function "event"';
  const wrong = Object.keys(NAMES).find(
    (name) => !["undefined", "function"].includes(typeof member(value, name)),
  );
  return wrong === undefined ? undefined : `"${wrong}" is not a function`;
}

/** Functions that are not handlers: most often a misspelled name. */
function unknownHandlers(handlers: object): string[] {
  const names = Object.keys(handlers).filter((name) => typeof member(handlers, name) === "function");
  return names.filter((name) => !Object.hasOwn(NAMES, name));
}

function member(value: object, name: string): unknown {
  return Reflect.get(value, name);
}

/** Wraps handlers to log their decisions and errors. */
export function loggedHandlers(handlers: Handlers, log: Log): Handlers {
  return new Proxy(handlers, {
    get(target, name) {
      const handler: unknown = Reflect.get(target, name);
      if (typeof handler !== "function") return handler;
      return async (...args: unknown[]) => {
        const call = { handler: String(name) };
        try {
          const result: unknown = await Reflect.apply(handler, target, args);
          log.debug({ ...call, decision: decisionIn(result) }, "answered");
          return result;
        } catch (error) {
          const stack = log.isLevelEnabled("debug") ? { stack: stackOf(error) } : {};
          log.error({ ...call, error: errorMessage(error), ...stack }, "a handler failed");
          throw error;
        }
      };
    },
  });
}

function decisionIn(result: unknown): unknown {
  return typeof result === "object" && result !== null && "decision" in result ? result.decision : undefined;
}

function stackOf(error: unknown): string | undefined {
  return error instanceof Error ? error.stack : undefined;
}
