import { constitutionDifference } from "@reins/policy";
import { noticeOnStderr, print } from "../../../output.ts";
import { readConstitutionFile } from "../constitution-file.ts";
import { policyIn } from "../load-policy.ts";
import { describeDifference } from "./words.ts";

/** The flags of `reins policy diff` as they were written. */
export interface DiffFlags {
  readonly json?: boolean;
}

/** Shows how one constitution differs from another. */
export async function diff(before: string, after: string, { json }: DiffFlags): Promise<void> {
  const notice = noticeOnStderr(json);
  const old = await policyIn(await readConstitutionFile(before, {}), notice);
  const now = await policyIn(await readConstitutionFile(after, {}), notice);
  const difference = constitutionDifference(old.file, now.file);
  print(json ? `${JSON.stringify({ before, after, ...difference })}\n` : describeDifference(difference));
}
