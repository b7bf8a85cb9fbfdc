import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { defaultFile, SCHEMA_FILE, schemaFile } from "@reins/policy";
import { DEFAULT_TENANT } from "../identity/principal.ts";
import { type NamedPolicyFiles, policyFiles, writeIfDifferent, writeIfMissing } from "./policy-home.ts";

/**
 * Writes a constitution a newcomer can live with, and a roster, where a home has none, and gives the paths it wrote. The
 * schema for editors, which is of this version and not the user's, is put beside them without a word. What is named
 * elsewhere is the user's, and is not written.
 */
export async function writeFirstFiles(home: string, named: NamedPolicyFiles = {}): Promise<string[]> {
  const { rules, prose, roster } = policyFiles(home, DEFAULT_TENANT);
  const files = [
    [rules, "default.yaml", named.rules],
    [prose, "default.md", named.prose],
    [roster, "default-roster.jsonl", undefined],
  ] as const;
  const written: string[] = [];
  for (const [path, name, elsewhere] of files) {
    if (elsewhere === undefined && (await writeIfMissing(path, () => readFile(defaultFile(name)))))
      written.push(path);
  }
  await writeIfDifferent(join(dirname(rules), SCHEMA_FILE), await readFile(schemaFile(), "utf8"));
  return written;
}
