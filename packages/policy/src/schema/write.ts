import { mkdirSync, writeFileSync } from "node:fs";
import { constitutionSchema, SCHEMA_FILE } from "./json-schema.ts";

// Writes the published schema anew: `node packages/policy/src/schema/write.ts`.
const folder = new URL("../../schema/", import.meta.url);
mkdirSync(folder, { recursive: true });
writeFileSync(new URL(SCHEMA_FILE, folder), constitutionSchema());
console.log(`${SCHEMA_FILE} written`);
