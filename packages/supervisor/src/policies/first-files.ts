import { readFile } from "node:fs/promises";
import { defaultFile } from "@reins/policy";
import { DEFAULT_TENANT } from "../identity/principal.ts";
import { policyFiles, writeIfMissing } from "./policy-home.ts";

/** Writes a constitution a newcomer can live with, and a roster, where a home has none. Gives the paths it wrote. */
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
  return written;
}
