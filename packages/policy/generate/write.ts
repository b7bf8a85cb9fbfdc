import { mkdirSync, writeFileSync } from "node:fs";
import { constitutionSchema, SCHEMA_FILE, schemaFile } from "../src/schema/json-schema.ts";

// Writes the published schema anew: `node packages/policy/generate/write.ts`.
mkdirSync(new URL("./", schemaFile()), { recursive: true });
writeFileSync(schemaFile(), constitutionSchema());
console.log(`${SCHEMA_FILE} written`);
