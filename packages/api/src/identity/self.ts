import { z } from "zod";
import { named } from "../named.ts";
import { operation } from "../operation.ts";

/** Who somebody is to this Reins. */
export const Self = named(
  "Self",
  z.looseObject({
    id: z.string().describe("the public id of the token, or local"),
    kind: z.enum(["user", "service", "agent"]),
    user: z.string(),
    tenant: z.string(),
    roles: z.array(z.string()),
    scopes: z.array(z.string()),
    is_admin: z.boolean(),
    workspace: z.string().optional().describe("the folder of sessions that name none"),
  }),
);
export type Self = z.infer<typeof Self>;

/** What anybody who is known can ask for about themselves. */
export const selfOperations = {
  getSelf: operation({
    id: "get_self",
    method: "GET",
    path: "/v1/whoami",
    summary: "Who one is here, and what one may.",
    audience: "principal",
    answer: Self,
  }),
} as const;
