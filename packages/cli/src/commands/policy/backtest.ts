import {
  Backtest,
  type BacktestReport,
  type ChangeKey,
  type Direction,
  type Group,
  RuleVerdict,
} from "@reins/policy";
import { policiesInForce } from "@reins/supervisor";
import type { Command } from "commander";
import { CliError, EXIT, type ExitCode, helpText } from "../../errors.ts";
import { wholeNumber } from "../../flags.ts";
import { readLedger } from "../../ledger/open-ledger.ts";
import { noticeOnStderr, print } from "../../output.ts";
import type { Invocation } from "../../program.ts";
import {
  DEFAULT_TENANT,
  type PolicyFlags,
  policyIn,
  REPLAYING,
  readConstitutionFile,
} from "./constitution-file.ts";
import { count, counted, numbers, ruleName, wrapped } from "./layout.ts";
import {
  describeExamples,
  describeUnreplayable,
  eachVerdict,
  type VerdictFlags,
  verdictRange,
  who,
} from "./replay.ts";

const HELP = `
Compares rules with rules: ignores what limits, other harnesses and people made of
a verdict. The same rules give the same verdicts.
For rules that count what came before, an action of the past counts if it was
really allowed and the draft allows it too. Times for --since are in UTC,
such as 2026-11-15 or 2026-11-15T05:20:00Z, or say how long ago: 90s, 15m, 2h.

Examples:
  reins policy backtest draft.yaml --since 7d
  reins policy backtest draft.yaml --fail-on looser     in a pull request
  reins policy backtest draft.yaml --json | jq '.changes[] | {to, tool, count}'`;

export function declareBacktest(policy: Command, invocation: Invocation): void {
  policy
    .command("backtest")
    .summary("apply a draft to past verdicts")
    .description(
      "Decides every verdict in the ledger again with a draft, from the recorded facts, and shows what " +
        "would change, grouped and counted. Changes nothing, and works while Reins runs.",
    )
    .argument("<file>", "the draft of a constitution")
    .option("--home <folder>", "the home folder")
    .option("--tenant <name>", "whose verdicts (default: default)")
    .option("--since <time>", "only verdicts from then on")
    .option("--limit <count>", "how many at most, the newest ones")
    .option("--examples <count>", "how many examples to show of each change", "3")
    .option(
      "--fail-on <what>",
      "exit with 1 if something becomes looser, or if any verdict changes: looser, change",
    )
    .option("--json", "print it as JSON")
    .addHelpText(
      "after",
      helpText(HELP, {
        ...REPLAYING,
        failed: "the file is not valid, or --fail-on applies",
      }),
    )
    .action(async (file: string, _, command: Command) => {
      invocation.exitCode = await backtest(file, command.optsWithGlobals<BacktestFlags>());
    });
}

interface BacktestFlags extends PolicyFlags, VerdictFlags {
  readonly examples: string;
  readonly failOn?: string;
}

type FailOn = "looser" | "change" | "nothing";

export function backtestSettings(flags: BacktestFlags, now: Date) {
  return {
    range: verdictRange(flags, now),
    tenant: flags.tenant ?? DEFAULT_TENANT,
    examples: wholeNumber(flags.examples, "--examples"),
    failOn: readFailOn(flags.failOn),
  };
}

function readFailOn(text: string | undefined): FailOn {
  if (text === undefined) return "nothing";
  if (text === "looser" || text === "change") return text;
  throw new CliError(`--fail-on is "${text}".`, { next: "Give looser or change." });
}

async function backtest(file: string, flags: BacktestFlags): Promise<ExitCode> {
  const { range, tenant, examples, failOn } = backtestSettings(flags, new Date());
  const draft = await policyIn(await readConstitutionFile(file, flags), noticeOnStderr(flags.json));
  const report = await readLedger(flags, async (ledger) => {
    const known = await policiesInForce(ledger, tenant);
    const trial = new Backtest(draft, { tenant, examples, known });
    await eachVerdict(ledger, range, (entry, payload) => trial.add(entry, payload));
    return trial.report();
  });
  print(flags.json ? `${JSON.stringify({ file, tenant, ...report })}\n` : describeBacktest(file, report));
  return fails(failOn, report) ? EXIT.failed : EXIT.done;
}

function fails(failOn: FailOn, { looser, stricter }: BacktestReport): boolean {
  switch (failOn) {
    case "looser":
      return looser > 0;
    case "change":
      return looser + stricter > 0;
    case "nothing":
      return false;
  }
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
