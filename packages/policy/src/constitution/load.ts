import { Policy } from "../decision/policy.ts";
import { PolicyError } from "../policy-error.ts";
import { readConstitution } from "./read.ts";
import { runTests } from "./run-tests.ts";
import type { ConstitutionText } from "./text.ts";

/** Reads, compiles and tests a constitution; throws {@link PolicyError} when anything is wrong with it. */
export function loadPolicy(text: ConstitutionText): Policy {
  const { file, rules } = text;
  const policy = new Policy(readConstitution(rules, file), text);
  const failed = runTests(policy);
  if (failed.length === 0) return policy;
  throw new PolicyError(
    file,
    failed.map(({ message }) => ({ message, place: undefined })),
  );
}
