import type { CoverageReport, Group, UnnamedKey } from "@reins/policy";
import { describeExamples, describeUnreplayable, who } from "../groups.ts";
import { count, counted, cut, numbers, ruleName, WIDTH, wrapped } from "../layout.ts";

/** Coverage for people. */
export function describeCoverage(file: string, report: CoverageReport): string {
  const { total, named, taken_by_all, unmatched, unnamed, unnamed_left_out, not_replayable } = report;
  const left =
    unnamed_left_out > 0 ? `  ${counted(unnamed_left_out, "action")} more, of too many kinds\n` : "";
  const parts = [
    wrapped(`${file} on ${counted(total, "action")}`, 4, 0),
    numbers([
      ["named by a rule", named],
      ["taken by a rule for everything", taken_by_all],
      ["matched by no rule", unmatched],
    ]),
    unnamed.length > 0 ? `Actions that no rule names\n${unnamed.map(describeUnnamed).join("")}${left}` : "",
    `How often each rule decided\n${ruleLines(report)}`,
    report.unreachable.length > 0
      ? `Rules that can never match\n${report.unreachable
          .map(({ rule, because }) =>
            wrapped(`${rule}: "${because}" before it takes everything it could`, 6, 2),
          )
          .join("")}`
      : "",
    describeUnreplayable(not_replayable),
  ];
  return parts.filter((part) => part !== "").join("\n");
}

function describeUnnamed(group: Group<UnnamedKey>): string {
  const line = `${count(group.count)} x ${who(group)}: ${group.verdict} by ${ruleName(group.rule)}`;
  return wrapped(line, 6, 2) + describeExamples(group.examples);
}

function ruleLines({ rules }: CoverageReport): string {
  const width = Math.max(...rules.map(({ matches }) => count(matches).length), 1);
  return rules
    .map(({ rule, matches, takes_all }) => {
      const remark = takes_all ? "  (takes everything)" : matches === 0 ? "  (never)" : "";
      const name = cut(rule, WIDTH - width - 5 - remark.length);
      return `  ${count(matches).padStart(width)}  ${name}${remark}\n`;
    })
    .join("");
}
