import {
  type ConstitutionCheck,
  type ConstitutionText,
  checkConstitution,
  type TestOutcome,
  testOutcomes,
} from "@reins/policy";
import { command } from "../../command.ts";
import { EXIT } from "../../errors.ts";
import { counted } from "../../output.ts";
import { CONSTITUTION, findConstitution, LOOKING, policyIn } from "./constitution-file.ts";
import { describeFault, plainFault, ruleName, wrapped } from "./layout.ts";

export const checkCommand = command({
  summary: "say whether Reins would accept a constitution, and if not, why",
  description:
    "Reads a constitution, compiles it and runs its tests, as Reins does before it accepts one. Shows " +
    "what is wrong with line and column, and remarks on what is most likely a mistake.",
  inputs: CONSTITUTION,
  examples: [
    "reins policy check                       the constitution of this home",
    "reins policy check draft.yaml",
    "reins policy check draft.yaml --json | jq .faults",
  ],
  codes: { ...LOOKING, done: "Reins would accept it" },
  async run({ file, home, tenant }) {
    const text = await findConstitution(file, home, tenant);
    const checked = await checkConstitution(text);
    const exitCode = checked.faults.length === 0 ? EXIT.done : EXIT.failed;
    return { json: checkReport(text, checked), text: () => describeCheck(text, checked), exitCode };
  },
});

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

export const testCommand = command({
  summary: "run the tests of a constitution",
  description: "Runs the tests in a constitution, and lists each with its outcome.",
  inputs: CONSTITUTION,
  note: `Tests are in the file itself, under tests:
  - name: a push
    given: { tool: Bash, effects: [{ kind: exec, command: git }] }
    expect: ask`,
  examples: [
    "reins policy test",
    "reins policy test draft.yaml",
    "reins policy test draft.yaml --json | jq '.tests[] | select(.passed | not)'",
  ],
  codes: { ...LOOKING, done: "all passed", failed: "a test failed, or the file is not valid" },
  async run({ file, home, tenant }) {
    const text = await findConstitution(file, home, tenant);
    // Failed tests are the result of this command, so there is no notice about them.
    const tests = await testOutcomes(await policyIn(text, () => undefined));
    const exitCode = tests.every(hasPassed) ? EXIT.done : EXIT.failed;
    return { json: testReport(text, tests), text: () => describeTests(text, tests), exitCode };
  },
});

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
