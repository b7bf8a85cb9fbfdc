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

/** The name of something, as a filter or in a body. */
export const Name = z.string().min(1).max(1_024);

/** The content id of an entry, as a request gives it. */
export const EntryId = z.string().regex(/^[0-9a-f]{64}$/, "64 hexadecimal digits");

/** A moment in a request, RFC 3339. */
export const RequestMoment = z.iso.datetime({ offset: true });

/** The number of an entry, an envelope or an event. */
export const Position = z.coerce.number().int().min(0).max(Number.MAX_SAFE_INTEGER);

/** Which come first in a list. */
export const ListOrder = z.enum(["oldest", "newest"]);

/** The tenant that a request of the operator is about. */
export const OperatorTenant = z
  .string()
  .min(1)
  .max(128)
  .optional()
  .describe("for the operator; others have only their own");

/** What was decided on an action. */
export const Verdict = z.enum(["allowed", "blocked", "ask", "defer", "modify"]);

/** How well the roster knows an agent. */
export const Trust = z.enum(["unknown", "registered", "standing"]);

/** How work was started. */
export const Start = z.enum(["interactive", "sub-agent", "background", "api"]);

/** Whether an action that was not allowed can happen all the same. */
export const Enforcement = z.enum(["performed", "confined", "asked", "observed"]);

/** How many are wanted at most. */
export const PageLimit = z.coerce.number().int().min(1).max(500).optional();

/** The same for lists of short items. */
export const LongLimit = z.coerce.number().int().min(1).max(1_000).optional();

/** The id of the last one of the page before. */
export const PageAfter = z.string().min(1).max(256).optional();
