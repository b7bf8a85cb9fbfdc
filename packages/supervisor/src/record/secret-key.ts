import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { readIfThere, writeIfDifferent, writeIfMissing } from "../policies/policy-home.ts";
import { SupervisorError } from "../supervisor-error.ts";

const KEY_BYTES = 32;

/** The newest key of a file, and those that it took the place of. */
export type SecretKeys = readonly [newest: Buffer, ...former: Buffer[]];

/** The keys in a file of a home, among the others that only its owner may reach; the first is made on first use. */
export async function secretKeys(folder: string, file: string): Promise<SecretKeys> {
  const path = join(folder, file);
  await writeIfMissing(path, () => textOf([newKey()]));
  const text = (await readIfThere(path))?.toString("utf8").trimEnd() ?? "";
  const [newest, ...former] = text.split("\n").map((line) => Buffer.from(line, "hex"));
  if (newest && [newest, ...former].every(({ length }) => length === KEY_BYTES)) return [newest, ...former];
  throw new SupervisorError("invalid", `the key file ${path} is damaged; bring it back from a backup`);
}

/** Puts a new key before those that are there. */
export async function addSecretKey(folder: string, file: string): Promise<SecretKeys> {
  const keys: SecretKeys = [newKey(), ...(await secretKeys(folder, file))];
  await writeIfDifferent(join(folder, file), textOf(keys));
  return keys;
}

/** Forgets every key but one. */
export async function keepSecretKey(folder: string, file: string, key: Buffer): Promise<void> {
  await writeIfDifferent(join(folder, file), textOf([key]));
}

function newKey(): Buffer {
  return randomBytes(KEY_BYTES);
}

function textOf(keys: readonly Buffer[]): string {
  return keys.map((key) => `${key.toString("hex")}\n`).join("");
}
