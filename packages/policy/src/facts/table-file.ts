import { readFileSync } from "node:fs";
import type { z } from "zod";

/** Reads one of the package's own data files. A file that does not fit is a fault of the release: nothing that needs it can be decided. */
export function tableFile<T>(name: string, schema: z.ZodType<T>): T {
  const file = new URL(`../../tables/${name}`, import.meta.url);
  return schema.parse(JSON.parse(readFileSync(file, "utf8")));
}
