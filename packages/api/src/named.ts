import { z } from "zod";

/** The schemas that have a name of their own in the API's description. */
export const schemas = z.registry<{ readonly id: string }>();

/** Gives a schema its name. */
export function named<Schema extends z.ZodType>(id: string, schema: Schema): Schema {
  schemas.add(schema, { id });
  return schema;
}
