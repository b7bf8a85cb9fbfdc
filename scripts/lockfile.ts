// Run after npm has changed package-lock.json: adds what npm left out of it (see lockfile/complete.ts).
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { complete } from "./lockfile/complete.ts";
import { type Lockfile, missingEntries } from "./lockfile/lockfile.ts";

const path = join(import.meta.dirname, "..", "package-lock.json");
const lockfile: Lockfile = JSON.parse(await readFile(path, "utf8"));
const missing = missingEntries(lockfile);
if (missing.length > 0) await writeFile(path, `${JSON.stringify(complete(lockfile), undefined, 2)}\n`);
console.log(
  missing.length === 0 ? "The lockfile is complete." : `Added ${missing.length} entries to the lockfile.`,
);
