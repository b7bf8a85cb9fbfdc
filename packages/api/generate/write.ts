import { writeFile } from "node:fs/promises";
import { API_REFERENCE, apiReference, everyOperation } from "./api-reference.ts";

await writeFile(API_REFERENCE, apiReference(everyOperation));
