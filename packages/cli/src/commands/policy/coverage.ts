import { Coverage, type CoverageReport, type Group, type UnnamedKey } from "@reins/policy";
import { command, HOME } from "../../command.ts";
import { readLedger } from "../../ledger/open-ledger.ts";
import { count, counted } from "../../printable.ts";
import {
  CONSTITUTION,
  DEFAULT_TENANT,
  findConstitution,
  JSON_FLAG,
  policyIn,
  REPLAYING,
  VERDICTS,
} from "./constitution-file.ts";
import { cutPrintable, numbers, ruleName, WIDTH, wrapped } from "./layout.ts";
import { describeExamples, describeUnreplayable, eachVerdict, who } from "./replay.ts";

export const coverageCommand = command({
  summary: "find actions that no rule names, and rules that never matched",
  description:
    "Decides every verdict in the ledger again, and shows the actions that no rule names, how often " +
    "each rule decided, and which never did or never can. Changes nothing, and works while Reins " +
    "runs.",
  inputs: {
    file: CONSTITUTION.file,
    home: HOME,
    tenant: [
      "--tenant <name>",
      "whose verdicts, and whose constitution when no file is named (default: default)",
    ],
    ...VERDICTS,
    json: JSON_FLAG,
  },
  note: `An action is named if the rule that decides on it has a condition; a rule with
the condition {} names nothing. Times for --since are in UTC, such as
2026-11-15, or say how long ago: 90s, 15m, 2h, 3d.`,
  examples: [
    "reins policy coverage",
    "reins policy coverage --since 30d",
    "reins policy coverage draft.yaml --json | jq '.never_matched'",
  ],
  codes: REPLAYING,
  async run({ file: named, home, json, tenant = DEFAULT_TENANT, since, limit }, { notice }) {
    const text = await findConstitution(named, home, tenant);
    const policy = await policyIn(text, notice);
    const report = await readLedger({ home, json }, async (ledger) => {
      const found = new Coverage(policy, { tenant });
      await eachVerdict(ledger, { since, limit }, (entry, payload) => found.add(entry, payload));
      return found.report();
    });
    const { file } = text;
    return { json: { file, tenant, ...report }, text: () => describeCoverage(file, report) };
  },
});

function describeCoverage(file: string, report: CoverageReport): string {
  const { total, named, taken_by_all, unmatched, unnamed, unnamed_left_out, not_replayable } = report;
  const left =
    unnamed_left_out > 0 ? `  ${counted(unnamed_left_out, "action")} more, of too many kinds\n` : "";
  const parts = [
    wrapped(`${file} on ${counted(total, "action")}`, 4, 0),
    numbers([
      ["named by a rule", named],
      ["matched by a rule for everything", taken_by_all],
      ["matched by no rule", unmatched],
    ]),
    unnamed.length > 0 ? `Actions that no rule names\n${unnamed.map(describeUnnamed).join("")}${left}` : "",
    `How often each rule decided\n${ruleLines(report)}`,
    report.unreachable.length > 0
      ? `Rules that can never match\n${report.unreachable
          .map(({ rule, because }) =>
            wrapped(`${rule}: "${because}" before it matches everything it could`, 6, 2),
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
      const remark = takes_all ? "  (matches everything)" : matches === 0 ? "  (never)" : "";
      const name = cutPrintable(rule, WIDTH - width - 5 - remark.length);
      return `  ${count(matches).padStart(width)}  ${name}${remark}\n`;
    })
    .join("");
}
