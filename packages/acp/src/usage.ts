import { type JsonObject, membersOf } from "./json-rpc.ts";

/** What an agent says that a turn used, as an answer to a prompt tells it: its numbers, in snake_case. */
export function usageIn(answer: unknown): JsonObject {
  const told = Object.entries(membersOf(membersOf(answer).usage));
  const numbers = told.filter(([, value]) => typeof value === "number" && Number.isFinite(value));
  return Object.fromEntries(numbers.map(([name, value]) => [snakeCase(name), value]));
}

function snakeCase(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
