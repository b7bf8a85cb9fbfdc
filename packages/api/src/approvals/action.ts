import { z } from "zod";
import { named } from "../named.ts";

const place = z
  .string()
  .describe("where the path lies, seen from the session: workspace, home, credentials …");
const inside = z.string().optional().describe("the path from the session's root");

/** One thing an action does. */
export const Effect = named(
  "Effect",
  z.discriminatedUnion("kind", [
    z.looseObject({ kind: z.literal("read"), path: z.string(), place, inside }),
    z.looseObject({ kind: z.literal("write"), path: z.string(), place, inside, destroys: z.boolean() }),
    z.looseObject({
      kind: z.literal("exec"),
      command: z.string(),
      arguments: z.array(z.string().nullable()).describe("null is known only when it runs"),
      opaque: z.boolean(),
    }),
    z.looseObject({ kind: z.literal("net"), host: z.string() }),
  ]),
);

/** What an action is, as far as the harness found out by itself. */
export const Action = named(
  "Action",
  z.looseObject({
    tool: z.string(),
    effects: z.array(Effect),
    opaque: z.boolean().describe("whether it may do more than its effects say"),
    doubts: z.array(z.string()),
    claims: z.looseObject({}).describe("what the agent says of it"),
    arguments: z.unknown(),
  }),
);

/** Whether an action that was not allowed can happen all the same. */
export const Enforcement = z.enum(["performed", "confined", "asked", "observed"]);
