import { randomBytes } from "node:crypto";
import { join } from "node:path";
import { readIfThere, writeIfMissing } from "../policies/policy-home.ts";
import { SupervisorError } from "../supervisor-error.ts";

const KEY_BYTES = 32;

/** A key of a home, in a file of its own among the others that only its owner may reach; made on first use. */
export async function secretKey(keys: string, file: string): Promise<Buffer> {
  const path = join(keys, file);
  await writeIfMissing(path, () => `${randomBytes(KEY_BYTES).toString("hex")}\n`);
  const kept = await readIfThere(path);
  const key = Buffer.from(kept?.toString("utf8").trimEnd() ?? "", "hex");
  if (key.length === KEY_BYTES) return key;
  throw new SupervisorError("invalid", `the key file ${path} is damaged; bring it back from a backup`);
}
