import { type ConstitutionCheck, type ConstitutionText, checkConstitution } from "@reins/policy";
import { EXIT, type ExitCode } from "../../../errors.ts";
import { print } from "../../../output.ts";
import { type PolicyFlags, readConstitutionFile } from "../constitution-file.ts";
import { describeFault, plainFault } from "../faults.ts";
import { counted, wrapped } from "../layout.ts";

/** Checks a constitution and shows what there is to say about it. */
export async function check(file: string | undefined, flags: PolicyFlags): Promise<ExitCode> {
  const text = await readConstitutionFile(file, flags);
  const checked = await checkConstitution(text);
  print(flags.json ? `${JSON.stringify(plain(text, checked))}\n` : describe(text, checked));
  return checked.faults.length === 0 ? EXIT.done : EXIT.failed;
}

function describe(text: ConstitutionText, { policy, faults, remarks, tests }: ConstitutionCheck): string {
  const found = [
    ...faults.map((fault) => describeFault(fault, text)),
    ...remarks.map((remark) => describeFault(remark, text, "remark: ")),
  ].join("");
  if (!policy || faults.length > 0) {
    const end = `${counted(faults.length, "fault")}: Reins would not take this file. What is in force would stay.`;
    return `${found}\n${wrapped(end, 0)}`;
  }
  const { limits, harnesses } = policy.file;
  const parts = [
    counted(policy.rules.length, "rule"),
    ...(limits.length > 0 ? [counted(limits.length, "limit")] : []),
    ...(harnesses.length > 0 ? [counted(harnesses.length, "harness", "harnesses")] : []),
    tests.length === 0 ? "no tests" : `${counted(tests.length, "test")} passed`,
  ];
  return `${found}${found ? "\n" : ""}${text.file} is fine: ${parts.join(", ")}.\n`;
}

function plain({ file }: ConstitutionText, { policy, faults, remarks, tests }: ConstitutionCheck) {
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
