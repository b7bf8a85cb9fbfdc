import { mkdirSync, writeFileSync } from "node:fs";
import { SCHEMA_FOLDER, schemaFiles } from "./json-schema.ts";

// Writes the published schemas anew: `node packages/graph/src/schema/write.ts`.
mkdirSync(SCHEMA_FOLDER, { recursive: true });
for (const [name, text] of schemaFiles()) {
  writeFileSync(new URL(name, SCHEMA_FOLDER), text);
  console.log(`${name} written`);
}
