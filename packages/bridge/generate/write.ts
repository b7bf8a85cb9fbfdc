import { mkdirSync, writeFileSync } from "node:fs";
import { BRIDGE_SCHEMA_FOLDER, bridgeSchemaFiles } from "./json-schema.ts";

// Writes the published schemas anew: `node packages/bridge/generate/write.ts`.
mkdirSync(BRIDGE_SCHEMA_FOLDER, { recursive: true });
for (const [name, text] of bridgeSchemaFiles()) {
  writeFileSync(new URL(name, BRIDGE_SCHEMA_FOLDER), text);
  console.log(`${name} written`);
}
