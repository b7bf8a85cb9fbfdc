import { z } from "zod";
import { named } from "../named.ts";
import { Moment } from "../text.ts";

const names = z.array(z.string()).max(200);
const started = z.enum(["interactive", "sub-agent", "background", "api"]);
const kind = z.enum(["user", "service", "agent"]);
const name = z.string().min(1).max(128);

/** A tenant. */
export const Tenant = named("Tenant", z.looseObject({ id: z.string(), created: Moment }));

/** Somebody on whose behalf agents act. */
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
export type Tenant = z.infer<typeof Tenant>;

/** What makes a user. */
export const NewUser = named(
  "NewUser",
  z.strictObject({
    id: name,
    name: z.string().max(1_024),
    email: z.string().max(254),
    tenant: name.optional().describe("by default one's own"),
    roles: names,
    scopes: names.describe("* alone is all"),
  }),
);

/** What changes about a user; what is not named stays. */
export const UserChange = named(
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
    kind,
    role: z.string().optional(),
    scopes: z.array(z.string()),
    agents: z.array(z.string()),
    started,
    created: Moment,
    expires: Moment.optional(),
    revoked: Moment.optional(),
  }),
);
export type Token = z.infer<typeof Token>;

/** What makes a token. */
export const NewToken = named(
  "NewToken",
  z.strictObject({
    user: name,
    tenant: name.optional().describe("by default one's own"),
    role: name.optional().describe("one of the user's; by default all of them"),
    scopes: names.optional().describe("by default all that the user has"),
    agents: names.optional().describe("the agents it may act as, * is any; by default none"),
    started: started.optional().describe("by default api"),
    kind: kind.optional().describe("by default user"),
    expires: z.string().optional().describe("RFC 3339; by default it does not expire"),
  }),
);

/** A new token. Its secret is shown this once. */
export const CreatedToken = named("CreatedToken", z.looseObject({ id: z.string(), secret: z.string() }));

/** A session that an agent began for a sub-agent. */
export const ChildSession = named(
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
export type ChildSession = z.infer<typeof ChildSession>;

export const TenantList = named("TenantList", z.looseObject({ tenants: z.array(Tenant) }));
export const UserList = named("UserList", z.looseObject({ users: z.array(User) }));
export const TokenList = named("TokenList", z.looseObject({ tokens: z.array(Token) }));
export const ChildSessionList = named("ChildSessionList", z.looseObject({ sessions: z.array(ChildSession) }));

/** How many sub-agents were ended. */
export const EndedSessions = named("EndedSessions", z.looseObject({ ended: z.int() }));
