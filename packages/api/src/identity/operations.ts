import { z } from "zod";
import { operation } from "../operation.ts";
import { PathName } from "../text.ts";
import {
  ChildSessionList,
  CreatedToken,
  EndedSessions,
  NewToken,
  NewUser,
  TenantList,
  TokenList,
  User,
  UserChange,
  UserList,
} from "./schemas.ts";

const audience = "admin";
const query = z.strictObject({
  tenant: z
    .string()
    .min(1)
    .max(128)
    .optional()
    .describe("for the operator; to others there is but their own"),
});

/** What admins can ask for about who is who. */
export const identityOperations = {
  listTenants: operation({
    id: "list_tenants",
    method: "GET",
    path: "/v1/identity/tenants",
    summary: "The tenants one can see.",
    audience,
    answer: TenantList,
  }),
  removeTenant: operation({
    id: "remove_tenant",
    method: "DELETE",
    path: "/v1/identity/tenants/{tenant}",
    summary: "Removes a tenant with everything in it. For the operator alone.",
    audience,
    params: z.strictObject({ tenant: PathName }),
    problems: ["not_found"],
  }),
  listUsers: operation({
    id: "list_users",
    method: "GET",
    path: "/v1/identity/users",
    summary: "The users of a tenant.",
    audience,
    query,
    answer: UserList,
    problems: ["not_found"],
  }),
  addUser: operation({
    id: "add_user",
    method: "POST",
    path: "/v1/identity/users",
    summary: "Adds a user; a tenant comes to be with its first.",
    audience,
    body: NewUser,
    status: 201,
    answer: User,
    problems: ["not_found", "conflict"],
  }),
  setUser: operation({
    id: "set_user",
    method: "PATCH",
    path: "/v1/identity/users/{user}",
    summary: "Changes what is named of a user and leaves the rest.",
    audience,
    params: z.strictObject({ user: PathName }),
    query,
    body: UserChange,
    answer: User,
    problems: ["not_found", "conflict"],
  }),
  removeUser: operation({
    id: "remove_user",
    method: "DELETE",
    path: "/v1/identity/users/{user}",
    summary: "Removes a user with its tokens and sub-agents.",
    audience,
    params: z.strictObject({ user: PathName }),
    query,
    problems: ["not_found", "conflict"],
  }),
  listTokens: operation({
    id: "list_tokens",
    method: "GET",
    path: "/v1/identity/tokens",
    summary: "The tokens of a tenant, the newest first; never their secrets.",
    audience,
    query,
    answer: TokenList,
    problems: ["not_found"],
  }),
  createToken: operation({
    id: "create_token",
    method: "POST",
    path: "/v1/identity/tokens",
    summary: "Makes a token. Its secret is shown this once.",
    audience,
    body: NewToken,
    status: 201,
    answer: CreatedToken,
    problems: ["not_found"],
  }),
  revokeToken: operation({
    id: "revoke_token",
    method: "DELETE",
    path: "/v1/identity/tokens/{token}",
    summary: "Ends a token and the sub-agents begun with it.",
    audience,
    params: z.strictObject({ token: PathName }),
    problems: ["not_found", "conflict"],
  }),
  listChildSessions: operation({
    id: "list_child_sessions",
    method: "GET",
    path: "/v1/identity/sessions",
    summary: "The live sub-agents of a tenant.",
    audience,
    query,
    answer: ChildSessionList,
    problems: ["not_found"],
  }),
  revokeChildSession: operation({
    id: "revoke_child_session",
    method: "DELETE",
    path: "/v1/identity/sessions/{session}",
    summary: "Ends the sub-agents begun from a session, and itself if it is one.",
    audience,
    params: z.strictObject({ session: PathName }),
    query,
    answer: EndedSessions,
    problems: ["not_found"],
  }),
} as const;
