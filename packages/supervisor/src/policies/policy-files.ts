import { readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { createFile, ifExists, replaceFile } from "@reins/kit";
import type { Draft, LedgerReader } from "@reins/ledger";
import {
  type ConstitutionText,
  defaultFile,
  loadPolicy,
  type Policy,
  PolicyError,
  SCHEMA_FILE,
  schemaFile,
} from "@reins/policy";
import { z } from "zod";
import { DEFAULT_TENANT } from "../identity/principal.ts";

/** Where a constitution lies. */
export interface PolicyFiles {
  readonly rules: string;
  readonly prose: string;
  readonly roster: string;
}

/** A constitution that does not lie in the home: its rules, its prose, or both. */
export type NamedPolicyFiles = Partial<Pick<PolicyFiles, "rules" | "prose">>;

/** The files of the harness itself, or of one of its tenants. */
export function policyFiles(home: string, tenant: string): PolicyFiles {
  const folder = tenant === DEFAULT_TENANT ? home : join(home, "tenants", tenant);
  return {
    rules: join(folder, "constitution.yaml"),
    prose: join(folder, "constitution.md"),
    roster: join(home, "agent-roster.jsonl"),
  };
}

/** Reads a constitution; `undefined` when there is none. */
export async function readPolicyFiles({ rules, prose }: PolicyFiles): Promise<ConstitutionText | undefined> {
  const [rulesText, proseBytes] = await Promise.all([readIfThere(rules), readIfThere(prose)]);
  if (!rulesText) return undefined;
  return { file: rules, rules: rulesText.toString("utf8"), prose: proseBytes ?? Buffer.alloc(0) };
}

/** The bytes of a file; `undefined` when it is not there. */
export function readIfThere(path: string): Promise<Buffer | undefined> {
  return ifExists(readFile(path));
}

/** Writes a file that is not there yet, in one step. Returns whether it did. */
export async function writeIfMissing(
  path: string,
  text: () => string | Promise<Uint8Array>,
): Promise<boolean> {
  return (await ifExists(stat(path))) ? false : createFile(path, await text());
}

/** Writes a file of ours unless it holds that text already, in one step. */
export async function writeIfDifferent(path: string, text: string): Promise<void> {
  if ((await readIfThere(path))?.toString("utf8") !== text) await replaceFile(path, text);
}

/**
 * Writes the default constitution and roster where a home has none, and returns the paths it wrote. The schema for
 * editors, which belongs to this version, is always updated. Files that are named elsewhere are not written.
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

/** The change that a policy's entry records. */
const PolicyChange = z.object({ rules_text: z.string(), prose_text: z.string() });

/**
 * The entry of a policy that comes into force. It holds the whole text, so that a third party can decide again what was
 * decided under it, and so that after a restart a changed file is compared with what was in force.
 */
export function policyDraft(
  before: { readonly tenant: string; readonly policy: Policy | undefined },
  policy: Policy,
  actor: string,
): Draft {
  const { tenant } = before;
  return {
    quality: "policy_change",
    actor,
    target: tenant,
    tags: ["constitution", tagOf(tenant)],
    payload: {
      change: "constitution",
      tenant,
      ...policy.hashes,
      before: before.policy ? { ...before.policy.hashes } : null,
      rules: policy.rules.length,
      rules_text: policy.text.rules,
      prose_text: Buffer.from(policy.text.prose).toString("base64"),
    },
  };
}

/**
 * The policy that was in force for a tenant when the ledger was last written to; `undefined` when there was none. That is
 * mostly the one that is loaded already, and loading takes its time.
 */
export async function lastInForce(
  ledger: Pick<LedgerReader, "read">,
  tenant: string,
  loaded?: Policy,
): Promise<Policy | undefined> {
  const [newest] = await ledger.read({ tag: tagOf(tenant), order: "newest", limit: 1 });
  const { data } = PolicyChange.safeParse(newest?.entry.payload);
  if (!data) return undefined;
  try {
    const prose = Buffer.from(data.prose_text, "base64");
    if (loaded?.text.rules === data.rules_text && prose.equals(loaded.text.prose)) return loaded;
    return loadPolicy({ file: "the constitution in the ledger", rules: data.rules_text, prose });
  } catch (error) {
    // Written by a version that took what this one does not: the file then counts as the first.
    if (error instanceof PolicyError) return undefined;
    throw error;
  }
}

function tagOf(tenant: string): string {
  return `constitution:${tenant}`;
}
