import { Approval, type ShownApproval } from "@reins/api";
import { CLIENT, CLIENT_CODES, CLIENT_HELP, withClient } from "../../client/connect.ts";
import { command } from "../../command.ts";
import { oneOf, wholeNumber } from "../../flags.ts";
import { printPages } from "../../output.ts";
import { cut, screenWidth } from "../../printable.ts";
import { ago, timeLeft } from "../../time.ts";
import { approvalPages } from "./approval-source.ts";
import { actionSummary, exact } from "./words.ts";

const STATES = [...Approval.shape.state.options, "all"] as const;
const readState = oneOf(STATES);

export const listCommand = command({
  summary: "list approvals by their state",
  description: "Lists approvals, one per line, the oldest first.",
  inputs: {
    state: [
      "--state <state>",
      "pending, approved, denied, expired, withdrawn, used or all",
      { default: ["pending"], read: readState },
    ],
    session: ["--session <id>", "only those of this session"],
    limit: ["--limit <count>", "how many at most", { read: wholeNumber(1) }],
    newest: ["--newest", "the newest first"],
    ...CLIENT,
    json: ["--json", "print the approvals as one JSON document"],
  },
  note: CLIENT_HELP,
  examples: [
    "reins approvals list",
    "reins approvals list --state all --newest --limit 20",
    'reins approvals list --session reed-1 --json | jq -r ".approvals[].id"',
  ],
  codes: CLIENT_CODES,
  async run({ state, session, limit, newest, ...flags }) {
    const order = newest ? "newest" : "oldest";
    const filter = { state: state === "all" ? undefined : state, session, order } as const;
    const width = screenWidth();
    await withClient(flags, (client) =>
      printPages(approvalPages(client, filter, limit), {
        json: flags.json ? "approvals" : undefined,
        text: (page, isFirst) => {
          const lines = page.map((each) => approvalLine(each, new Date(), width));
          return [...(isFirst ? [HEADING] : []), ...lines].map((line) => `${line}\n`).join("");
        },
        none: state === "pending" ? "No approval is pending.\n" : "There are none.\n",
      }),
    );
  },
});

const ID_SHOWN = 12;
const STATE_WIDTH = "withdrawn".length;
const TIME_WIDTH = "59m left".length;
const AGENT_WIDTH = 10;
const LONGEST = 400;

const WITHHELD = "(shown to its user and to approvers)";

export const HEADING = [
  "id".padEnd(ID_SHOWN),
  "state".padEnd(STATE_WIDTH),
  "time".padEnd(TIME_WIDTH),
  "agent".padEnd(AGENT_WIDTH),
  "what",
].join("  ");

export function approvalLine(approval: ShownApproval, now: Date, width: number | undefined): string {
  const { id, state, agent, created_at } = approval;
  const what = "withheld" in approval ? WITHHELD : actionSummary(approval.facts);
  const open = state === "pending" || state === "approved";
  const columns = [
    id.slice(0, ID_SHOWN),
    state.padEnd(STATE_WIDTH),
    (open ? timeLeft(approval, now) : ago(created_at, now)).padEnd(TIME_WIDTH),
    cut(exact(agent), AGENT_WIDTH).padEnd(AGENT_WIDTH),
  ].join("  ");
  return `${columns}  ${cut(what, Math.max((width ?? LONGEST) - columns.length - 2, 1))}`;
}
