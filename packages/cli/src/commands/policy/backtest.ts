import type { LedgerReader } from "@reins/ledger";
import {
  Backtest,
  type BacktestReport,
  type ChangeKey,
  type Direction,
  type Example,
  type Group,
  RuleVerdict,
  type UnreplayableCounts,
} from "@reins/policy";
import { pastVerdicts, policiesInForce } from "@reins/supervisor";
import { command, HOME } from "../../command.ts";
import { CliError, EXIT } from "../../errors.ts";
import { wholeNumber } from "../../flags.ts";
import { readLedger } from "../../ledger/open-ledger.ts";
import { count, counted } from "../../output.ts";
import {
  DEFAULT_TENANT,
  JSON_FLAG,
  policyIn,
  REPLAYING,
  readConstitutionFile,
  VERDICTS,
} from "./constitution-file.ts";
import { cutPrintable, numbers, ruleName, WIDTH, wrapped } from "./layout.ts";

export const backtestCommand = command({
  summary: "apply a draft to past verdicts",
  description:
    "Decides every verdict in the ledger again with a draft, from the recorded facts, and shows what " +
    "would change, grouped and counted. Changes nothing, and works while Reins runs.",
  inputs: {
    file: ["<file>", "the draft of a constitution"],
    home: HOME,
    tenant: ["--tenant <name>", "whose verdicts (default: default)"],
    ...VERDICTS,
    examples: [
      "--examples <count>",
      "how many examples to show of each change",
      { default: ["3"], read: wholeNumber() },
    ],
    failOn: [
      "--fail-on <what>",
      "exit with 1 if something becomes looser, or if any verdict changes: looser, change",
      { read: readFailOn },
    ],
    json: JSON_FLAG,
  },
  note: `Compares rules with rules: ignores what limits, other harnesses and people made of
a verdict. The same rules give the same verdicts.
For rules that count what came before, an action of the past counts if it was
really allowed and the draft allows it too. Times for --since are in UTC,
such as 2026-11-15 or 2026-11-15T05:20:00Z, or say how long ago: 90s, 15m, 2h.`,
  examples: [
    "reins policy backtest draft.yaml --since 7d",
    "reins policy backtest draft.yaml --fail-on looser     in a pull request",
    "reins policy backtest draft.yaml --json | jq '.changes[] | {to, tool, count}'",
  ],
  codes: { ...REPLAYING, failed: "the file is not valid, or --fail-on applies" },
  async run({ file, home, json, tenant = DEFAULT_TENANT, since, limit, examples, failOn }, { notice }) {
    const draft = await policyIn(await readConstitutionFile(file), notice);
    const report = await readLedger({ home, json }, async (ledger) => {
      const known = await policiesInForce(ledger, tenant);
      const trial = new Backtest(draft, { tenant, examples, known });
      await eachVerdict(ledger, { since, limit }, (entry, payload) => trial.add(entry, payload));
      return trial.report();
    });
    const { looser, stricter } = report;
    const changes = failOn === "looser" ? looser : looser + stricter;
    return {
      json: { file, tenant, ...report },
      text: () => describeBacktest(file, report),
      exitCode: failOn !== undefined && changes > 0 ? EXIT.failed : EXIT.done,
    };
  },
});

function readFailOn(text: string): "looser" | "change" {
  if (text === "looser" || text === "change") return text;
  throw new CliError(`--fail-on is "${text}".`, { next: "Give looser or change." });
}

function describeBacktest(file: string, report: BacktestReport): string {
  const { total, unchanged, other_rule, stricter, looser, before, after, first_at, last_at } = report;
  if (total === 0)
    return `There are no verdicts to apply ${file} to.\n${describeUnreplayable(report.not_replayable)}`;
  const verdicts = RuleVerdict.options.filter((verdict) => before[verdict] + after[verdict] > 0);
  const parts = [
    `${wrapped(`${file} on ${counted(total, "verdict")}, ${first_at} to ${last_at}`, 4, 0)}`,
    numbers([
      ["unchanged", unchanged],
      ["the same by another rule", other_rule],
      ["stricter", stricter],
      ["looser", looser],
    ]),
    `  ${"".padEnd(10)}before → after\n${verdicts
      .map((verdict) => `  ${verdict.padEnd(10)}${count(before[verdict])} → ${count(after[verdict])}\n`)
      .join("")}`,
    ...(["looser", "stricter", "same"] as const).flatMap((direction) => section(report, direction)),
    notes(report),
  ];
  return parts.filter((part) => part !== "").join("\n");
}

const HEADINGS: Readonly<Record<Direction, string>> = {
  looser: "Looser",
  stricter: "Stricter",
  same: "The same verdict by another rule",
};

function section({ changes }: BacktestReport, direction: Direction): string[] {
  const groups = changes.filter((change) => change.direction === direction);
  if (groups.length === 0) return [];
  return [`${HEADINGS[direction]}\n${groups.map(describeChange).join("")}`];
}

function describeChange(change: Group<ChangeKey>): string {
  const { from, to } = change;
  const what = `${from.verdict} by ${ruleName(from.rule)} → ${to.verdict} by ${ruleName(to.rule)}`;
  const line = `${count(change.count)} x ${who(change)}: ${what}`;
  return wrapped(line, 6, 2) + (change.direction === "same" ? "" : describeExamples(change.examples));
}

/** Notes that qualify the figures. */
function notes({ contradicted, blind, changes_left_out, not_replayable }: BacktestReport): string {
  const said = [
    contradicted > 0 &&
      `${counted(contradicted, "verdict")} by the same rules came out otherwise. Either secrets that the rules ` +
        "use are not recorded, or the record was changed: see reins ledger verify.",
    blind > 0 &&
      `${counted(blind, "verdict")} had to be decided without arguments that the draft asks for and were not kept, ` +
        "because the rules of the time did not ask for them.",
    changes_left_out > 0 && `${counted(changes_left_out, "change")} more, of too many kinds to list.`,
  ].filter((text) => text !== false);
  return said.map((text) => wrapped(text, 0)).join("") + describeUnreplayable(not_replayable);
}

export async function eachVerdict(
  ledger: Pick<LedgerReader, "read" | "readStored">,
  range: { readonly since: string | undefined; readonly limit: number | undefined },
  take: (entry: string, payload: unknown) => void,
): Promise<void> {
  for await (const { entry } of pastVerdicts(ledger, range)) take(entry.cid, entry.payload);
}

const CID_SHOWN = 12;
const INDENT = 8;

/** A group that is no tool call is named by its event type. */
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

export function describeExamples(examples: readonly Example[]): string {
  const room = WIDTH - INDENT - CID_SHOWN - 2;
  return examples
    .map(
      ({ entry, what }) => `${" ".repeat(INDENT)}${entry.slice(0, CID_SHOWN)}  ${cutPrintable(what, room)}\n`,
    )
    .join("");
}

export function describeUnreplayable({ no_policy, no_facts, unreadable }: UnreplayableCounts): string {
  const reasons = [
    no_policy > 0 && `${count(no_policy)} from when no policy was loaded`,
    no_facts > 0 && `${count(no_facts)} without facts`,
    unreadable > 0 && `${count(unreadable)} with facts that this version does not understand`,
  ].filter((text) => text !== false);
  return reasons.length === 0 ? "" : wrapped(`Could not be decided again: ${reasons.join(", ")}.`, 0);
}
