import { mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { SCHEMA_FOLDER, schemaFiles } from "./json-schema.ts";

// Writes the published schemas anew: `node packages/ahp/generate/write.ts`.
const files = schemaFiles();
mkdirSync(SCHEMA_FOLDER, { recursive: true });
for (const name of readdirSync(SCHEMA_FOLDER)) {
  if (!files.has(name)) rmSync(new URL(name, SCHEMA_FOLDER), { recursive: true });
}
for (const [name, text] of files) writeFileSync(new URL(name, SCHEMA_FOLDER), text);
console.log(`${files.size} schemas written`);
