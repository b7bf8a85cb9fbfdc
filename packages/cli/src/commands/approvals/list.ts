import type { Approval, ShownApproval } from "@reins/api";
import type { Command } from "commander";
import {
  CLIENT_CODES,
  CLIENT_HELP,
  type ClientFlags,
  clientFlags,
  withClient,
} from "../../client/connect.ts";
import { CliError, helpText } from "../../errors.ts";
import { wholeNumber } from "../../flags.ts";
import { Output } from "../../output.ts";
import { cut, screenWidth } from "../../printable.ts";
import { ago, timeLeft } from "../../time.ts";
import { type ApprovalFilter, approvalPages } from "./approval-source.ts";
import { actionSummary, exact } from "./words.ts";

const HELP = `${CLIENT_HELP}

Examples:
  reins approvals list
  reins approvals list --state all --newest --limit 20
  reins approvals list --session reed-1 --json | jq -r ".approvals[].id"`;

export function declareList(approvals: Command): void {
  clientFlags(
    approvals
      .command("list")
      .summary("list approvals by their state")
      .description("Lists approvals, one per line, the oldest first.")
      .option("--state <state>", "pending, approved, denied, expired, withdrawn, used or all", "pending")
      .option("--session <id>", "only those of this session")
      .option("--limit <count>", "how many at most")
      .option("--newest", "the newest first"),
    "print the approvals as one JSON document",
  )
    .addHelpText("after", helpText(HELP, CLIENT_CODES))
    .action((_, command: Command) => list(command.optsWithGlobals<ListFlags>()));
}

interface ListFlags extends ClientFlags {
  readonly state?: string;
  readonly session?: string;
  readonly limit?: string;
  readonly newest?: boolean;
}

const STATES: Readonly<Record<Approval["state"], true>> = {
  pending: true,
  approved: true,
  denied: true,
  expired: true,
  withdrawn: true,
  used: true,
};

export function listSettings({ state = "pending", session, limit, newest }: ListFlags): {
  filter: ApprovalFilter;
  limit: number | undefined;
} {
  return {
    filter: {
      state: state === "all" ? undefined : readState(state),
      session,
      order: newest ? "newest" : "oldest",
    },
    limit: limit === undefined ? undefined : wholeNumber(limit, "--limit", 1),
  };
}

function readState(text: string): Approval["state"] {
  if (isState(text)) return text;
  throw new CliError(`--state is "${text}".`, {
    next: `Use one of: ${Object.keys(STATES).join(", ")}, all.`,
  });
}

function isState(text: string): text is Approval["state"] {
  return Object.hasOwn(STATES, text);
}

async function list(flags: ListFlags): Promise<void> {
  const { filter, limit } = listSettings(flags);
  const output = new Output(process.stdout);
  const width = screenWidth();
  await withClient(flags, async (client) => {
    if (flags.json) {
      const all: ShownApproval[] = [];
      for await (const page of approvalPages(client, filter, limit)) all.push(...page);
      await output.write(`${JSON.stringify({ approvals: all })}\n`);
      return;
    }
    let found = false;
    for await (const page of approvalPages(client, filter, limit)) {
      const heading = found ? [] : [HEADING];
      found = true;
      const now = new Date();
      const lines = page.map((each) => approvalLine(each, now, width));
      await output.write([...heading, ...lines].map((line) => `${line}\n`).join(""));
      if (output.gone.aborted) return;
    }
    if (!found) await output.write(nothing(flags));
  });
}

function nothing({ state = "pending" }: ListFlags): string {
  return state === "pending" ? "No approval is pending.\n" : "There are none.\n";
}

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
