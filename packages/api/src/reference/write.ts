import { writeFile } from "node:fs/promises";
import { apiReference } from "./api-reference.ts";
import { everyOperation } from "./every-operation.ts";
import { API_REFERENCE } from "./place.ts";

await writeFile(API_REFERENCE, apiReference(everyOperation));
