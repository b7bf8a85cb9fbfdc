import { blake3Hex } from "../blake3.ts";
import { Policy } from "../decision/policy.ts";
import { PolicyError } from "../policy-error.ts";
import { readConstitution } from "./read.ts";
import { runTests } from "./run-tests.ts";

/** A constitution as it lies on the disk: its rules, and the prose that people read. */
export interface ConstitutionText {
  /** The name of the file of rules, for error messages. */
  readonly file: string;
  readonly rules: string;
  readonly prose: Uint8Array;
}

/** Reads, compiles and tests a constitution; throws {@link PolicyError} when anything is wrong with it. */
export function loadPolicy({ file, rules, prose }: ConstitutionText): Policy {
  const hashes = { constitution_hash: blake3Hex(prose), rules_hash: blake3Hex(rules) };
  const policy = new Policy(readConstitution(rules, file), hashes);
  const failed = runTests(policy);
  if (failed.length === 0) return policy;
  throw new PolicyError(
    file,
    failed.map(({ message }) => ({ message, place: undefined })),
  );
}
