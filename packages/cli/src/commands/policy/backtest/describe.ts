import { type BacktestReport, type ChangeKey, type Direction, type Group, RuleVerdict } from "@reins/policy";
import { describeExamples, describeUnreplayable, who } from "../groups.ts";
import { count, counted, numbers, ruleName, wrapped } from "../layout.ts";

/** A backtest for people. */
export function describeBacktest(file: string, report: BacktestReport): string {
  const { total, unchanged, other_rule, stricter, looser, before, after, first_at, last_at } = report;
  if (total === 0)
    return `There are no verdicts to try ${file} on.\n${describeUnreplayable(report.not_replayable)}`;
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

/** What has to be known to read the figures rightly. */
function notes({ contradicted, blind, changes_left_out, not_replayable }: BacktestReport): string {
  const said = [
    contradicted > 0 &&
      `${counted(contradicted, "verdict")} by these very rules came out otherwise. Either secrets that the rules ` +
        "look at are not on record, or the record is not what was decided: see reins ledger verify.",
    blind > 0 &&
      `${counted(blind, "verdict")} had to be decided without arguments that the draft asks for and nobody kept, ` +
        "because the rules of the time did not ask for them.",
    changes_left_out > 0 && `${counted(changes_left_out, "change")} more, of too many kinds to list.`,
  ].filter((text) => text !== false);
  return said.map((text) => wrapped(text, 0)).join("") + describeUnreplayable(not_replayable);
}
