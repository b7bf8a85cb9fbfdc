import type { Handlers } from "@reins/ahp";

/** Every handler there is. The type makes the list complete. */
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

/** Whether a value is an object whose handlers are functions, `event` among them. */
export function isHandlers(value: unknown): value is Handlers {
  return handlersFault(value) === undefined;
}

/** Why a value cannot serve as handlers, if so. */
export function handlersFault(value: unknown): string | undefined {
  if (typeof value !== "object" || value === null) return "they are no object";
  if (member(value, "event") === undefined) return 'they have no function "event"';
  const wrong = Object.keys(NAMES).find(
    (name) => !["undefined", "function"].includes(typeof member(value, name)),
  );
  return wrong === undefined ? undefined : `"${wrong}" is no function`;
}

/** Functions of an object that look like handlers and are none: most often a name misspelled. */
export function unknownHandlers(handlers: object): string[] {
  const names = Object.keys(handlers).filter((name) => typeof member(handlers, name) === "function");
  return names.filter((name) => !Object.hasOwn(NAMES, name));
}

function member(value: object, name: string): unknown {
  return Reflect.get(value, name);
}
