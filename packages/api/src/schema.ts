import { z } from "zod";

/** The schemas that have a name of their own in the API's description. */
export const schemas = z.registry<{ readonly id: string }>();

/** Gives a schema its name. */
export function named<Schema extends z.ZodType>(id: string, schema: Schema): Schema {
  schemas.add(schema, { id });
  return schema;
}

/** A moment, RFC 3339. */
export const Moment = z.string().describe("RFC 3339");

/** A content id or another hash: 64 hexadecimal digits. */
export const Hash = z.string().describe("64 hexadecimal digits");

/** The name of something in a path. */
export const PathName = z.string().min(1).max(1_024);

/** How many are wanted at most. */
export const PageLimit = z.coerce.number().int().min(1).max(500).optional();

/** The id of the last one of the page before. */
export const PageAfter = z.string().min(1).max(256).optional();
