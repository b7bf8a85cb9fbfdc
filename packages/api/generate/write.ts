import { writeFile } from "node:fs/promises";
import { accessMatrix } from "../src/access-matrix.ts";
import { ACCESS_REFERENCE, API_REFERENCE, apiReference, everyOperation } from "./api-reference.ts";

await writeFile(API_REFERENCE, apiReference(everyOperation));
await writeFile(ACCESS_REFERENCE, accessMatrix(everyOperation));
