import { z } from "zod";
import { operation } from "./operation.ts";
import { named } from "./schema.ts";

/** What a principal is. */
export const PrincipalKind = z.enum(["user", "service", "agent"]);

/** The principal behind the request's token. */
export const Self = named(
  "Self",
  z.looseObject({
    id: z.string().describe("the public id of the token, or local"),
    kind: PrincipalKind,
    user: z.string(),
    tenant: z.string(),
    roles: z.array(z.string()),
    scopes: z.array(z.string()),
    is_admin: z.boolean(),
    workspace: z.string().optional().describe("the folder of sessions that name none"),
  }),
);
export type Self = z.infer<typeof Self>;

/** Operations of a principal on itself. */
export const selfOperations = {
  getSelf: operation({
    id: "get_self",
    method: "GET",
    path: "/v1/whoami",
    summary: "Returns the identity and the permissions of the caller.",
    audience: "principal",
    answer: Self,
  }),
} as const;
