import type { Example, UnreplayableCounts } from "@reins/policy";
import { count, cut, WIDTH, wrapped } from "./layout.ts";

const CID_SHOWN = 12;
const INDENT = 8;

/** Who did what, of a group of actions. What is no call of a tool goes by the name of its event. */
export function who({
  tool,
  event_type,
  agent,
}: {
  readonly tool: string;
  readonly event_type: string;
  readonly agent: string;
}): string {
  return `${tool === "" ? event_type : tool} by ${agent}`;
}

/** Examples, one on a line: the beginning of the entry's content id, and what was done. */
export function describeExamples(examples: readonly Example[]): string {
  const room = WIDTH - INDENT - CID_SHOWN - 2;
  return examples
    .map(({ entry, what }) => `${" ".repeat(INDENT)}${entry.slice(0, CID_SHOWN)}  ${cut(what, room)}\n`)
    .join("");
}

/** What could not be decided again, and why; empty when there was nothing. */
export function describeUnreplayable({ no_policy, no_facts, unreadable }: UnreplayableCounts): string {
  const reasons = [
    no_policy > 0 && `${count(no_policy)} from when no policy was loaded`,
    no_facts > 0 && `${count(no_facts)} without facts`,
    unreadable > 0 && `${count(unreadable)} with facts that this version does not understand`,
  ].filter((text) => text !== false);
  return reasons.length === 0 ? "" : wrapped(`Could not be decided again: ${reasons.join(", ")}.`, 0);
}
