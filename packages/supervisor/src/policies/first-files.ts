import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { constitutionSchema, defaultFile, SCHEMA_FILE } from "@reins/policy";
import { DEFAULT_TENANT } from "../identity/principal.ts";
import { policyFiles, writeIfDifferent, writeIfMissing } from "./policy-home.ts";

/**
 * Writes a constitution a newcomer can live with, and a roster, where a home has none, and gives the paths it wrote. The
 * schema for editors, which is of this version and not the user's, is put beside them without a word.
 */
export async function writeFirstFiles(home: string): Promise<string[]> {
  const { rules, prose, roster } = policyFiles(home, DEFAULT_TENANT);
  const files = [
    [rules, "default.yaml"],
    [prose, "default.md"],
    [roster, "default-roster.jsonl"],
  ] as const;
  const written: string[] = [];
  for (const [path, name] of files) {
    if (await writeIfMissing(path, () => readFile(defaultFile(name)))) written.push(path);
  }
  await writeIfDifferent(join(dirname(rules), SCHEMA_FILE), constitutionSchema());
  return written;
}
