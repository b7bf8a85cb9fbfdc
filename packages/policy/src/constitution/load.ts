import { Policy } from "../decision/policy.ts";
import { PolicyError } from "../policy-error.ts";
import { readConstitution } from "./read.ts";
import { plainTestFaults, testOutcomes } from "./run-tests.ts";
import type { ConstitutionText } from "./text.ts";

/**
 * Reads and compiles a constitution, and runs those of its tests that give effects; throws {@link PolicyError} when
 * anything is wrong with it. A file that is to be used is loaded by {@link loadTestedPolicy}.
 */
export function loadPolicy(text: ConstitutionText): Policy {
  const policy = new Policy(readConstitution(text.rules, text.file), text);
  expectNone(text.file, plainTestFaults(policy));
  return policy;
}

/** Reads, compiles and tests a constitution; throws {@link PolicyError} when anything is wrong with it. */
export async function loadTestedPolicy(text: ConstitutionText): Promise<Policy> {
  const policy = new Policy(readConstitution(text.rules, text.file), text);
  const outcomes = await testOutcomes(policy);
  expectNone(
    text.file,
    outcomes.flatMap(({ fault }) => (fault === undefined ? [] : [{ message: fault }])),
  );
  return policy;
}

function expectNone(file: string, failed: readonly { readonly message: string }[]): void {
  if (failed.length === 0) return;
  throw new PolicyError(
    file,
    failed.map(({ message }) => ({ message, place: undefined })),
  );
}
