import { mkdirSync, writeFileSync } from "node:fs";
import { GRAPH_SCHEMA_FOLDER, graphSchemaFiles } from "./json-schema.ts";

// Writes the published schemas anew: `node packages/graph/generate/write.ts`.
mkdirSync(GRAPH_SCHEMA_FOLDER, { recursive: true });
for (const [name, text] of graphSchemaFiles()) {
  writeFileSync(new URL(name, GRAPH_SCHEMA_FOLDER), text);
  console.log(`${name} written`);
}
