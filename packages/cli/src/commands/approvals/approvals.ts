import { Approval, approvalOperations, type ShownApproval } from "@reins/api";
import type { ApiClient } from "../../client/api-client.ts";
import { CLIENT, CLIENT_CODES, CLIENT_HELP, withClient } from "../../client/connect.ts";
import { operationCommand } from "../../client/operation-command.ts";
import { command, group } from "../../command.ts";
import { CliError } from "../../errors.ts";
import { oneOf, wholeNumber } from "../../flags.ts";
import { cut, noticeOnStderr, Output, pageWidth, printPages, screenWidth } from "../../output.ts";
import { withStopSignal } from "../../serving/stop.ts";
import { ago, readDuration, timeLeft } from "../../time.ts";
import {
  APPROVAL_ADVICE,
  answerTo,
  approvalFeed,
  approvalId,
  approvalPages,
  type Seen,
} from "./approval-source.ts";
import { ApprovalConsole } from "./console.ts";
import { outcomeWords, shownApproval } from "./describe-approval.ts";
import { grantsCommand, revokeCommand } from "./grants.ts";
import { actionSummary, exact } from "./words.ts";

const LOST = "The connection was lost; retrying for a minute.";

/** Prints approvals as they come; on a terminal, prompts for each. */
const watchCommand = command({
  summary: "show approvals as they come, and answer them",
  description: "Shows pending and new approvals, until Ctrl-C.",
  inputs: { ...CLIENT, json: ["--json", "print one JSON document per change"] },
  note: `On a terminal each approval is shown whole, and one key answers it:
  a  allow once     A  allow always     d  deny     s  later     q  quit
Elsewhere every change is one line, or with --json one document per line.
Needs a running Reins; waits a minute for one that is restarted.
REINS_URL and REINS_TOKEN set --url and --token.`,
  examples: [
    "reins approvals watch",
    `reins approvals watch --json | jq -r '.approval | .id + " " + .state'`,
  ],
  codes: { ...CLIENT_CODES, done: "stopped by Ctrl-C or q" },
  async run(flags) {
    const interactive = !flags.json && process.stdin.isTTY && process.stdout.isTTY;
    await withStopSignal((signal) =>
      withClient(flags, (client) =>
        interactive ? promptForEach(client, signal) : printChanges(client, signal, flags.json),
      ),
    );
  },
});

async function promptForEach(client: ApiClient, stopped: AbortSignal): Promise<void> {
  const end = new AbortController();
  const signal = AbortSignal.any([stopped, end.signal]);
  const { promise: broken, reject } = Promise.withResolvers<never>();
  const screen = {
    write: (text: string) => void process.stdout.write(text),
    get width() {
      return pageWidth();
    },
  };
  const console = new ApprovalConsole({
    screen,
    answer: (id, answer) => answerTo(id, answer, client),
    now: () => new Date(),
    quit: () => end.abort(),
  });
  screen.write("Waiting for approvals; q ends.\n");
  const finish = readKeys(process.stdin, (key) => void console.press(key).catch(reject));
  const options = { signal, onLost: () => screen.write(`${LOST}\n`) };
  try {
    await Promise.race([
      broken,
      drain(approvalFeed(client, options), ({ approval }) => console.take(approval)),
    ]);
  } finally {
    finish();
    end.abort();
  }
}

async function printChanges(
  client: ApiClient,
  stopped: AbortSignal,
  json: boolean | undefined,
): Promise<void> {
  const output = new Output(process.stdout);
  const signal = AbortSignal.any([stopped, output.gone]);
  const options = { signal, onLost: () => noticeOnStderr(json)(LOST) };
  await drain(approvalFeed(client, options), (seen) =>
    output.write(`${json ? JSON.stringify(seen) : approvalLine(seen.approval, new Date(), screenWidth())}\n`),
  );
}

async function drain(feed: AsyncIterable<Seen>, take: (seen: Seen) => void | Promise<void>): Promise<void> {
  for await (const seen of feed) await take(seen);
}

export interface KeyInput {
  setRawMode(raw: boolean): unknown;
  setEncoding(encoding: "utf8"): unknown;
  on(event: "data", take: (text: string) => void): unknown;
  off(event: "data", take: (text: string) => void): unknown;
  resume(): unknown;
  pause(): unknown;
}

/**
 * Reads a terminal key by key until the returned function is called. Ignores input of several characters at once:
 * pasted text and named keys.
 */
export function readKeys(input: KeyInput, press: (key: string) => void): () => void {
  const take = (text: string) => {
    if (text.length === 1) press(text);
  };
  input.setRawMode(true);
  input.setEncoding("utf8");
  input.on("data", take);
  input.resume();
  return () => {
    input.off("data", take);
    input.setRawMode(false);
    input.pause();
  };
}

const STATES = [...Approval.shape.state.options, "all"] as const;
const readState = oneOf(STATES);

const listCommand = command({
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

const ID = ["<id>", "the approval's id, or the beginning of it", { find: approvalId }] as const;
const CODES = {
  failed: "answered already, expired, or not yours to answer; says by whom and when",
} as const;

const showCommand = operationCommand({
  operation: approvalOperations.getApproval,
  summary: "show exactly what an approval would allow",
  description: "Shows who asks for what and why, and what an answer would apply to.",
  inputs: { id: ["<id>", "the approval", { find: approvalId }] },
  output: (approval) => ({ text: () => shownApproval(approval) }),
  advice: APPROVAL_ADVICE,
  note: "An id may be abbreviated as long as it is unambiguous. What was written by\nothers is in quotes or behind a bar, with hidden characters spelled out.",
  examples: ["reins approvals show apr_7Qx2", "reins approvals show apr_7Qx2 --json | jq .facts.effects"],
});

const approveCommand = operationCommand({
  operation: approvalOperations.answerApproval,
  summary: "allow what is asked for",
  description: "Allows what an approval asks for, once or from now on.",
  inputs: {
    id: ID,
    always: ["--always", "allow exactly the same from now on", { local: true }],
    prefix: [
      "--prefix <words>",
      'with --always: every plain command here that begins so, such as "npm test"',
      { read: (text) => text.split(/\s+/).filter((word) => word !== "") },
    ],
    grant_expires_ms: [
      "--for <time>",
      "with --always: for so long, such as 30m, 8h or 7d",
      { read: readDuration },
    ],
    note: ["--note <text>", "a note for the record"],
  },
  complete: (values) => ({ decision: decisionIn(values) }),
  output: (approval, values) => ({ text: () => outcomeWords(approval, decisionIn(values)) }),
  advice: APPROVAL_ADVICE,
  jsonHelp: "print the approval as JSON",
  codes: CODES,
  note: "Once allows exactly what was asked, one time. Always creates a grant for exactly\nthe same in any session; see reins approvals grants and revoke.",
  examples: [
    "reins approvals approve apr_7Qx2",
    "reins approvals approve apr_7Qx2 --always --for 8h",
    'reins approvals approve apr_7Qx2 --always --prefix "npm test"',
    'reins approvals approve apr_7Qx2 --note "after the backup"',
  ],
});

const denyCommand = operationCommand({
  operation: approvalOperations.answerApproval,
  summary: "deny what is asked for",
  description: "Denies what an approval asks for. One no is enough, however many people are asked.",
  inputs: { id: ID, note: ["--note <reason>", "the reason, which the agent gets"] },
  complete: () => ({ decision: "deny" }),
  output: (approval) => ({ text: () => outcomeWords(approval, "deny") }),
  advice: APPROVAL_ADVICE,
  jsonHelp: "print the approval as JSON",
  codes: CODES,
  examples: [
    "reins approvals deny apr_7Qx2",
    'reins approvals deny apr_7Qx2 --note "use a branch of your own"',
  ],
});

interface GivenApproval {
  readonly always: boolean | undefined;
  readonly prefix?: readonly string[] | undefined;
  readonly grant_expires_ms?: number | undefined;
}

function decisionIn({ always, prefix, grant_expires_ms }: GivenApproval): "allow_always" | "allow_once" {
  if (always) return "allow_always";
  if (grant_expires_ms !== undefined)
    throw new CliError("--for says how long an --always lasts.", {
      next: "Add --always, or leave --for out.",
    });
  if (prefix !== undefined)
    throw new CliError("--prefix says which commands an --always covers.", {
      next: "Add --always, or leave --prefix out.",
    });
  return "allow_once";
}

const DESCRIPTION =
  "An action that a rule asks about waits for a person. An answer applies to exactly what was asked; " +
  "an action that is not answered in time is blocked.";

export const approvalsCommand = group(DESCRIPTION, {
  list: listCommand,
  show: showCommand,
  approve: approveCommand,
  deny: denyCommand,
  watch: watchCommand,
  grants: grantsCommand,
  revoke: revokeCommand,
});
