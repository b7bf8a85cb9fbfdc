import { type ConstitutionText, checkConstitution, type Policy } from "@reins/policy";
import { CliError, EXIT } from "../../errors.ts";
import type { Notice } from "../../output.ts";
import { describeFault } from "./faults.ts";
import { counted } from "./layout.ts";

/** The policy that a constitution makes. Where only its tests fail, that is told beside it. */
export async function policyIn(text: ConstitutionText, notice: Notice): Promise<Policy> {
  const { policy, faults } = await checkConstitution(text);
  if (policy) {
    if (faults.length > 0)
      notice(`${text.file} fails ${counted(faults.length, "test")} of its own, so Reins would not take it.`);
    return policy;
  }
  throw new CliError(`${text.file} has ${counted(faults.length, "fault")}, so Reins would not take it.`, {
    next: faults
      .map((fault) => describeFault(fault, text))
      .join("")
      .trimEnd(),
    exitCode: EXIT.failed,
  });
}
