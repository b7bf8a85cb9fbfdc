import type { ShownApproval } from "@reins/api";
import { ago, left } from "../../../time.ts";
import { exact } from "../words/exact.ts";
import { gistOf } from "../words/gist.ts";

const ID_SHOWN = 12;
const STATE_WIDTH = "withdrawn".length;
const TIME_WIDTH = "59m left".length;
const AGENT_WIDTH = 10;
const LONGEST = 400;

/** What is said of an approval that concerns others. */
const WITHHELD = "(shown to its user and to approvers)";

/** What stands above the lines. */
export const HEADING = [
  "id".padEnd(ID_SHOWN),
  "state".padEnd(STATE_WIDTH),
  "time".padEnd(TIME_WIDTH),
  "agent".padEnd(AGENT_WIDTH),
  "what",
].join("  ");

/** An approval on one line: enough of its id, where it stands, how long still or ago, who asks, and what for. */
export function lineOf(approval: ShownApproval, now: Date, width: number | undefined): string {
  const { id, state, agent, created_at } = approval;
  const what = "withheld" in approval ? WITHHELD : gistOf(approval.facts);
  const open = state === "pending" || state === "approved";
  const columns = [
    id.slice(0, ID_SHOWN),
    state.padEnd(STATE_WIDTH),
    (open ? left(approval, now) : ago(created_at, now)).padEnd(TIME_WIDTH),
    cut(exact(agent), AGENT_WIDTH).padEnd(AGENT_WIDTH),
  ].join("  ");
  return `${columns}  ${cut(what, Math.max((width ?? LONGEST) - columns.length - 2, 1))}`;
}

function cut(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1).toWellFormed()}…`;
}
