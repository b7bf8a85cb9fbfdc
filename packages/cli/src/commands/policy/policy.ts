import { createInterface } from "node:readline/promises";
import { policyOperations } from "@reins/api";
import {
  type ConstitutionDifference,
  ConstitutionFile,
  Coverage,
  type CoverageReport,
  constitutionDifference,
  type Difference,
  type Group,
  type MemberChange,
  SECTIONS,
  type UnnamedKey,
} from "@reins/policy";
import type { z } from "zod";
import { type ApiClient, incompatible } from "../../client/api-client.ts";
import { CLIENT, CLIENT_CODES, CLIENT_HELP, withClient } from "../../client/connect.ts";
import { command, group, HOME } from "../../command.ts";
import { CliError, EXIT } from "../../errors.ts";
import { readLedger } from "../../ledger/open-ledger.ts";
import { count, counted, print, printable } from "../../output.ts";
import { backtestCommand, describeExamples, describeUnreplayable, eachVerdict, who } from "./backtest.ts";
import { checkCommand, testCommand } from "./check.ts";
import {
  CONSTITUTION,
  DEFAULT_TENANT,
  findConstitution,
  JSON_FLAG,
  LOOKING,
  policyIn,
  REPLAYING,
  readConstitutionFile,
  VERDICTS,
} from "./constitution-file.ts";
import { explainCommand } from "./explain.ts";
import { cutPrintable, inline, numbers, ruleName, WIDTH, wrapped } from "./layout.ts";

const diffCommand = command({
  summary: "show how one constitution differs from another",
  description:
    "Shows which rules, limits, tools, harnesses and tests were added, removed, moved or changed, and " +
    "whether the new constitution provably allows nothing more.",
  inputs: {
    before: ["<old>", "the constitution as it was"],
    after: ["<new>", "the constitution as it would be"],
    json: JSON_FLAG,
  },
  note: `A new constitution that is provably no looser applies at once; any other waits for
an admin. What is not provably stricter counts as looser. To see what it would have
changed in the past, use reins policy backtest.`,
  examples: [
    "reins policy diff ~/.local/share/reins/constitution.yaml draft.yaml",
    "reins policy diff old.yaml new.yaml --json | jq .no_looser",
  ],
  codes: { ...LOOKING, failed: "one of the files is not valid" },
  async run({ before, after }, { notice }) {
    const old = await policyIn(await readConstitutionFile(before), notice);
    const now = await policyIn(await readConstitutionFile(after), notice);
    const difference = constitutionDifference(old.file, now.file);
    return { json: { before, after, ...difference }, text: () => describeDifference(difference) };
  },
});

const HEADINGS: Readonly<Record<Difference["section"], string>> = {
  rules: "Rules",
  limits: "Limits",
  tools: "Tools",
  harnesses: "Harnesses",
  tests: "Tests",
  default_mandate: "Mandate",
};

function describeDifference({ differences, no_looser, looser_in }: ConstitutionDifference): string {
  if (differences.length === 0) return "They are equal.\n";
  const sections = SECTIONS.flatMap((section) => {
    const found = differences.filter((difference) => difference.section === section);
    return found.length > 0 ? [`${HEADINGS[section]}\n${found.map(describe).join("")}\n`] : [];
  });
  const end = no_looser
    ? "The new one is no looser: Reins would apply it at once."
    : `The new one may be looser, because of ${looser_in.join(", ")}: it would wait for an admin.`;
  return `${sections.join("")}${wrapped(end, 0)}`;
}

function describe(difference: Difference): string {
  const { kind, name, section } = difference;
  const order = section === "rules";
  switch (kind) {
    case "added":
      return (
        wrapped(`+ ${name}${order ? `, as no. ${difference.after?.place}` : ""}`, 6, 2) + whole(difference)
      );
    case "removed":
      return (
        wrapped(`- ${name}${order ? `, was no. ${difference.before?.place}` : ""}`, 6, 2) + whole(difference)
      );
    case "moved":
      return wrapped(
        `> ${name}, from no. ${difference.before?.place} to no. ${difference.after?.place}`,
        6,
        2,
      );
    case "changed":
      return wrapped(`~ ${name}`, 6, 2) + (difference.members ?? []).map(describeMember).join("");
  }
}

/** The members of what was added or removed, without empty ones. */
function whole({ after, before }: Difference): string {
  const value = (after ?? before)?.value;
  if (typeof value !== "object" || value === null) return "";
  return Object.entries(value)
    .filter(([, member]) => member !== undefined && member !== "")
    .map(([name, member]) => wrapped(`${name}: ${inline(member)}`, 8, 6))
    .join("");
}

function describeMember({ member, before, after }: MemberChange): string {
  return wrapped(`${member}: ${inline(before)} → ${inline(after)}`, 8, 6);
}

type Status = z.output<typeof policyOperations.getPolicy.answer>;
type Loaded = NonNullable<Status["waiting"]>;

const acceptCommand = command({
  summary: "put a constitution into force that allows more",
  description: "Shows how a changed constitution differs from the one in force, and puts it into force.",
  inputs: {
    tenant: ["--tenant <id>", "the tenant whose constitution it is (default: one's own)"],
    yes: ["--yes", "do not ask"],
    dryRun: ["--dry-run", "only show it"],
    ...CLIENT,
    json: ["--json", "print the difference as JSON; does not ask"],
  },
  note: `On a terminal it asks first. Accepts exactly what was shown: a file that changed
meanwhile is rejected.

${CLIENT_HELP}`,
  examples: [
    "reins policy accept",
    "reins policy accept --dry-run           only show what it would change",
    "reins policy accept --tenant acme --yes",
  ],
  codes: { ...CLIENT_CODES, failed: "nothing waits, or it was rejected; the message says why" },
  run: ({ tenant, yes, dryRun, ...flags }) =>
    withClient(flags, async (client) => {
      const query = { tenant };
      const status = await client.call(policyOperations.reloadPolicy, { query });
      const { waiting, in_force } = status;
      if (!waiting) throw nothingPending(status);
      const difference = differenceOf(in_force, waiting, client.address);
      if (!flags.json)
        print(
          difference ? describeDifference(difference) : "Nothing is in force now, so nothing is allowed.\n",
        );
      const output = process.stdout.isTTY ? process.stdout : process.stderr;
      const accepted = !dryRun && (yes || flags.json || (await isAgreed(process.stdin, output)));
      if (accepted) await enforce(client, query, waiting);
      return {
        json: { tenant: status.tenant, accepted, ...hashesOf(waiting), difference },
        text: () =>
          accepted ? `\nIn force now for ${status.tenant}.\n` : "\nNothing was changed; it still waits.\n",
      };
    }),
});

/** Accepts exactly what was shown; the server rejects it if the file changed meanwhile. */
async function enforce(
  client: ApiClient,
  query: { tenant: string | undefined },
  waiting: Loaded,
): Promise<void> {
  const advice = {
    conflict: "The file changed meanwhile. Run the same command again to see the new difference.",
  };
  await client.call(policyOperations.acceptPolicy, { query, body: hashesOf(waiting), advice });
}

function hashesOf({ rules_hash, constitution_hash }: Loaded) {
  return { rules_hash, constitution_hash };
}

function differenceOf(before: Loaded | null, after: Loaded, address: string) {
  if (!before) return undefined;
  const [old, now] = [ConstitutionFile.safeParse(before.file), ConstitutionFile.safeParse(after.file)];
  if (old.success && now.success) return constitutionDifference(old.data, now.data);
  throw incompatible("It sent constitutions that cannot be read", address, old.error ?? now.error);
}

function nothingPending({ tenant, fault }: Status): CliError {
  if (fault !== null)
    return new CliError(`The constitution of ${tenant} is not valid, so it cannot be accepted.`, {
      next: `${printable(fault)}\nRepair it; reins policy check shows where.`,
      exitCode: EXIT.failed,
    });
  return new CliError(`No changed constitution of ${tenant} waits to be accepted.`, {
    next: "One that is no looser applies at once. To see what a draft would change: reins policy diff <old> <new>",
    exitCode: EXIT.failed,
  });
}

type TerminalInput = NodeJS.ReadableStream & { readonly isTTY?: boolean };

/** Asks for confirmation on a terminal; without one, running the command is the confirmation. */
export async function isAgreed(input: TerminalInput, output: NodeJS.WritableStream): Promise<boolean> {
  if (!input.isTTY) return true;
  const lines = createInterface({ input, output });
  try {
    const answer = await lines.question("\nPut it into force? [y/N] ");
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}

const coverageCommand = command({
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

const DESCRIPTION =
  "constitution.yaml says what agents may do. These commands check, test and explain it, and apply a draft to past " +
  "decisions before it is in force. Only accept changes anything, and all of them work while " +
  "Reins runs.";

export const policyCommand = group(DESCRIPTION, {
  check: checkCommand,
  test: testCommand,
  explain: explainCommand,
  diff: diffCommand,
  backtest: backtestCommand,
  coverage: coverageCommand,
  accept: acceptCommand,
});
