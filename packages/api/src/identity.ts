import { z } from "zod";
import { operation } from "./operation.ts";
import { Moment, named, OperatorTenant, PathName, Start } from "./schema.ts";

const names = z.array(z.string()).max(200);
const name = z.string().min(1).max(128);

/** What a principal is. */
const PrincipalKind = z.enum(["user", "service", "agent"]);

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

/** A tenant. */
const Tenant = named("Tenant", z.looseObject({ id: z.string(), created: Moment }));

/** A user on whose behalf agents act. */
export const User = named(
  "User",
  z.looseObject({
    id: z.string(),
    tenant: z.string(),
    name: z.string(),
    email: z.string(),
    roles: z.array(z.string()),
    scopes: z.array(z.string()),
    created: Moment,
  }),
);
export type User = z.infer<typeof User>;

/** What makes a user. */
const NewUser = named(
  "NewUser",
  z.strictObject({
    id: name,
    name: z.string().max(1_024),
    email: z.string().max(254),
    tenant: name.optional().describe("by default the caller's"),
    roles: names,
    scopes: names.describe("* alone is all"),
  }),
);

/** What changes about a user; what is not named stays. */
const UserChange = named(
  "UserChange",
  z.strictObject({
    name: z.string().max(1_024).optional(),
    email: z.string().max(254).optional(),
    roles: names.optional(),
    scopes: names.optional(),
  }),
);

/** A token as others see it: everything but its secret. */
export const Token = named(
  "Token",
  z.looseObject({
    id: z.string(),
    user: z.string(),
    tenant: z.string(),
    kind: PrincipalKind,
    role: z.string().optional(),
    scopes: z.array(z.string()),
    agents: z.array(z.string()),
    started: Start,
    created: Moment,
    expires: Moment.optional(),
    revoked: Moment.optional(),
  }),
);
export type Token = z.infer<typeof Token>;

/** What makes a token. */
const NewToken = named(
  "NewToken",
  z.strictObject({
    user: name,
    tenant: name.optional().describe("by default the caller's"),
    role: name.optional().describe("one of the user's; by default all of them"),
    scopes: names.optional().describe("by default all that the user has"),
    agents: names.optional().describe("the agents it may act as, * is any; by default none"),
    started: Start.optional().describe("by default api"),
    kind: PrincipalKind.optional().describe("by default user"),
    expires: z.string().optional().describe("RFC 3339; by default it does not expire"),
  }),
);

/** A new token. Its secret is shown this once. */
const CreatedToken = named("CreatedToken", z.looseObject({ id: z.string(), secret: z.string() }));

/** A session that an agent began for a sub-agent. */
const ChildSession = named(
  "ChildSession",
  z.looseObject({
    session_id: z.string(),
    tenant: z.string(),
    user: z.string(),
    principal: z.string(),
    parent: z.string(),
    agent: z.string(),
    chain: z.array(z.string()),
    depth: z.int(),
    scopes: z.array(z.string()),
    task: z.string(),
    created: Moment,
    expires: Moment,
  }),
);

const TenantList = named("TenantList", z.looseObject({ tenants: z.array(Tenant) }));
const UserList = named("UserList", z.looseObject({ users: z.array(User) }));
const TokenList = named("TokenList", z.looseObject({ tokens: z.array(Token) }));
const ChildSessionList = named("ChildSessionList", z.looseObject({ sessions: z.array(ChildSession) }));

/** How many sub-agents were ended. */
const EndedSessions = named("EndedSessions", z.looseObject({ ended: z.int() }));

const audience = "admin";
const query = z.strictObject({ tenant: OperatorTenant });

/** Operations of admins on tenants, users, tokens and sub-agents. */
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
    summary: "Adds a user; a tenant is created with its first user.",
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
