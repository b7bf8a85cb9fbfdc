import type { RequestId } from "../acp/message.ts";

const PATTERN = /^reins-([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})$/;

/** The id under which a question goes to clients: the same for all of them, and after they come back. */
export function questionId(key: string): string {
  return `reins-${key}`;
}

/** The question that an id stands for, if it is one of ours. */
export function questionIn(id: RequestId): string | undefined {
  return typeof id === "string" ? PATTERN.exec(id)?.[1] : undefined;
}
