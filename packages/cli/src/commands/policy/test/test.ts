import { type ConstitutionText, type TestOutcome, testOutcomes } from "@reins/policy";
import { EXIT, type ExitCode } from "../../../errors.ts";
import { print } from "../../../output.ts";
import { type PolicyFlags, readConstitutionFile } from "../constitution-file.ts";
import { counted, ruleName, wrapped } from "../layout.ts";
import { policyIn } from "../load-policy.ts";

/** Runs the tests of a constitution and shows how each came out. */
export async function test(file: string | undefined, flags: PolicyFlags): Promise<ExitCode> {
  const text = await readConstitutionFile(file, flags);
  // What fails is the result of this command, and no notice beside it.
  const tests = await testOutcomes(await policyIn(text, () => undefined));
  print(flags.json ? `${JSON.stringify(plain(text, tests))}\n` : describe(text, tests));
  return tests.every(hasPassed) ? EXIT.done : EXIT.failed;
}

function describe({ file }: ConstitutionText, tests: readonly TestOutcome[]): string {
  if (tests.length === 0) return `There are no tests in ${file}; they stand under tests:\n`;
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

function plain({ file }: ConstitutionText, tests: readonly TestOutcome[]) {
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
