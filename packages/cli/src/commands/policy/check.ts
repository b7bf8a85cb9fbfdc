import {
  type ConstitutionCheck,
  type ConstitutionText,
  checkConstitution,
  type TestOutcome,
  testOutcomes,
} from "@reins/policy";
import type { Command } from "commander";
import { EXIT, type ExitCode, helpText } from "../../errors.ts";
import { print } from "../../output.ts";
import type { Invocation } from "../../program.ts";
import { LOOKING, type PolicyFlags, policyIn, readConstitutionFile } from "./constitution-file.ts";
import { counted, describeFault, plainFault, ruleName, wrapped } from "./layout.ts";

const CHECK_HELP = `
Examples:
  reins policy check                       the constitution of this home
  reins policy check draft.yaml
  reins policy check draft.yaml --json | jq .faults`;

export function declareCheck(policy: Command, invocation: Invocation): void {
  policy
    .command("check")
    .summary("say whether Reins would accept a constitution, and if not, why")
    .description(
      "Reads a constitution, compiles it and runs its tests, as Reins does before it accepts one. Shows " +
        "what is wrong with line and column, and remarks on what is most likely a mistake.",
    )
    .argument("[file]", "the constitution (default: constitution.yaml of the home)")
    .option("--home <folder>", "the home folder")
    .option("--tenant <name>", "whose constitution, when no file is named (default: default)")
    .option("--json", "print it as JSON")
    .addHelpText("after", helpText(CHECK_HELP, { ...LOOKING, done: "Reins would accept it" }))
    .action(async (file: string | undefined, _, command: Command) => {
      invocation.exitCode = await check(file, command.optsWithGlobals<PolicyFlags>());
    });
}

async function check(file: string | undefined, flags: PolicyFlags): Promise<ExitCode> {
  const text = await readConstitutionFile(file, flags);
  const checked = await checkConstitution(text);
  print(flags.json ? `${JSON.stringify(checkReport(text, checked))}\n` : describeCheck(text, checked));
  return checked.faults.length === 0 ? EXIT.done : EXIT.failed;
}

function describeCheck(
  text: ConstitutionText,
  { policy, faults, remarks, tests }: ConstitutionCheck,
): string {
  const found = [
    ...faults.map((fault) => describeFault(fault, text)),
    ...remarks.map((remark) => describeFault(remark, text, "remark: ")),
  ].join("");
  if (!policy || faults.length > 0) {
    const end = `${counted(faults.length, "fault")}: Reins would not accept this file. The current one would stay in force.`;
    return `${found}\n${wrapped(end, 0)}`;
  }
  const { limits, harnesses } = policy.file;
  const parts = [
    counted(policy.rules.length, "rule"),
    ...(limits.length > 0 ? [counted(limits.length, "limit")] : []),
    ...(harnesses.length > 0 ? [counted(harnesses.length, "harness", "harnesses")] : []),
    tests.length === 0 ? "no tests" : `${counted(tests.length, "test")} passed`,
  ];
  return `${found}${found ? "\n" : ""}${text.file} is valid: ${parts.join(", ")}.\n`;
}

function checkReport({ file }: ConstitutionText, { policy, faults, remarks, tests }: ConstitutionCheck) {
  return {
    file,
    fine: faults.length === 0,
    ...policy?.hashes,
    rules: policy?.rules.length ?? 0,
    limits: policy?.file.limits.length ?? 0,
    tests: tests.length,
    faults: faults.map(plainFault),
    remarks: remarks.map(plainFault),
  };
}

const TEST_HELP = `
Tests are in the file itself, under tests:
  - name: a push
    given: { tool: Bash, effects: [{ kind: exec, command: git }] }
    expect: ask

Examples:
  reins policy test
  reins policy test draft.yaml
  reins policy test draft.yaml --json | jq '.tests[] | select(.passed | not)'`;

export function declareTest(policy: Command, invocation: Invocation): void {
  policy
    .command("test")
    .summary("run the tests of a constitution")
    .description("Runs the tests in a constitution, and lists each with its outcome.")
    .argument("[file]", "the constitution (default: constitution.yaml of the home)")
    .option("--home <folder>", "the home folder")
    .option("--tenant <name>", "whose constitution, when no file is named (default: default)")
    .option("--json", "print it as JSON")
    .addHelpText(
      "after",
      helpText(TEST_HELP, {
        ...LOOKING,
        done: "all passed",
        failed: "a test failed, or the file is not valid",
      }),
    )
    .action(async (file: string | undefined, _, command: Command) => {
      invocation.exitCode = await test(file, command.optsWithGlobals<PolicyFlags>());
    });
}

async function test(file: string | undefined, flags: PolicyFlags): Promise<ExitCode> {
  const text = await readConstitutionFile(file, flags);
  // Failed tests are the result of this command, so there is no notice about them.
  const tests = await testOutcomes(await policyIn(text, () => undefined));
  print(flags.json ? `${JSON.stringify(testReport(text, tests))}\n` : describeTests(text, tests));
  return tests.every(hasPassed) ? EXIT.done : EXIT.failed;
}

function describeTests({ file }: ConstitutionText, tests: readonly TestOutcome[]): string {
  if (tests.length === 0) return `There are no tests in ${file}; they belong under tests:\n`;
  const failed = tests.filter((outcome) => !hasPassed(outcome)).length;
  const end = `${counted(tests.length, "test")}: ${tests.length - failed} passed, ${failed} failed.`;
  return `${tests.map(describeOutcome).join("")}\n${end}\n`;
}

function describeOutcome(outcome: TestOutcome): string {
  const { test: example, got } = outcome;
  if (hasPassed(outcome)) return wrapped(`ok    ${example.name}`, 6, 0);
  const expected = `${example.expect}${example.rule === undefined ? "" : ` by ${ruleName(example.rule)}`}`;
  return [
    wrapped(`FAIL  ${example.name}`, 6, 0),
    wrapped(`expected ${expected}`, 17, 8),
    wrapped(`got ${got.verdict} by ${ruleName(got.rule)}`, 17, 8),
  ].join("");
}

function testReport({ file }: ConstitutionText, tests: readonly TestOutcome[]) {
  const failed = tests.filter((outcome) => !hasPassed(outcome)).length;
  return {
    file,
    passed: tests.length - failed,
    failed,
    tests: tests.map((outcome) => ({
      name: outcome.test.name,
      passed: hasPassed(outcome),
      expected: { verdict: outcome.test.expect, rule: outcome.test.rule ?? null },
      got: { verdict: outcome.got.verdict, rule: outcome.got.rule ?? null },
    })),
  };
}

function hasPassed({ fault }: TestOutcome): boolean {
  return fault === undefined;
}
