import type { Audience, Operation } from "./operation.ts";

/** The kinds of callers, each with less than the next. */
export const CALLERS = [
  "unauthenticated",
  "agent",
  "user",
  "approver",
  "admin",
  "server admin",
  "operator",
] as const;
export type CallerKind = (typeof CALLERS)[number];

/** What a kind of caller gets: an answer, or the status of the refusal. */
export type MatrixCell = "yes" | 401 | 403;

/** A way in that is no operation of the API. */
export interface OtherDoor {
  readonly method: "WebSocket" | "POST" | "GET";
  /** Members in braces stand for any one name, and a star for any end. */
  readonly path: `/${string}`;
  readonly audience: Audience;
  readonly about: string;
}

/** The ways in beside the operations. The server takes connections and requests at these alone. */
export const OTHER_DOORS = {
  acpSocket: { method: "WebSocket", path: "/acp", audience: "principal", about: "ACP" },
  haakSocket: {
    method: "WebSocket",
    path: "/ws",
    audience: "principal",
    about: "HAAK; with `ws: {auth: none}` local callers without a token are agents",
  },
  pathlessSocket: {
    method: "WebSocket",
    path: "/",
    audience: "principal",
    about: "the same, for clients that know no path",
  },
  ahpSocket: { method: "WebSocket", path: "/ahp", audience: "principal", about: "AHP" },
  ahp: { method: "POST", path: "/ahp", audience: "principal", about: "AHP" },
  terminalSocket: {
    method: "WebSocket",
    path: "/v1/processes/{id}/terminal/ws",
    audience: "person",
    about:
      "the terminal of a command, of the principal that started it, as with `POST /v1/processes/{id}/input`",
  },
  root: { method: "GET", path: "/", audience: "anyone", about: "leads to the page" },
  pageFolder: { method: "GET", path: "/ui", audience: "anyone", about: "leads to the page" },
  page: { method: "GET", path: "/ui/*", audience: "anyone", about: "the page, which is the same for all" },
} as const satisfies Readonly<Record<string, OtherDoor>>;

/** Callers, as the owner of something sees them: all but the foreign one are of its tenant. */
export const RELATIONS = ["owner", "user", "approver", "admin", "foreign admin", "operator"] as const;
export type Relation = (typeof RELATIONS)[number];

/** What a request gets that names something of another caller; `none` is an answer without it. */
export type ObjectCell = "yes" | "none" | 403 | 404;

/** Who shares something, and what each gets. */
const SHARING = {
  owner: ["yes", 404, 404, 404, 404, 404],
  "owner and admins": ["yes", 404, 404, "yes", 404, "yes"],
  "owner and admins, in a list": ["yes", "none", "none", "yes", "none", "yes"],
  "owner and who answers": ["yes", 403, "yes", "yes", 404, "yes"],
  "owner and who answers, in a list": ["yes", "none", "yes", "yes", "none", "yes"],
  tenant: ["yes", "yes", "yes", "yes", 404, "yes"],
  "tenant, in a list": ["yes", "yes", "yes", "yes", "none", "yes"],
  "folders of the tenant": ["yes", "yes", "yes", "yes", 403, "yes"],
  admins: [403, 403, 403, "yes", 404, "yes"],
  "admins, in a list": [403, 403, 403, "yes", "none", "yes"],
  "admins of the server": [403, 403, 403, "yes", 403, "yes"],
  operator: [403, 403, 403, 404, 404, "yes"],
  all: ["yes", "yes", "yes", "yes", "yes", "yes"],
} as const satisfies Readonly<Record<string, readonly ObjectCell[]>>;

/** Members of a query or body that name something of a caller; so does every parameter of a path. */
export const NAMING: ReadonlySet<string> = new Set(
  "session session_id run_id path directory workspace cwd tenant user server process entry".split(" "),
);

/** Each request with the member that names something, by who shares it. */
const SHARED: Readonly<Record<keyof typeof SHARING, string>> = {
  owner: `
    DELETE /v1/memory/{fact} {fact}
    DELETE /v1/processes/{id} {id}
    GET /v1/processes/{id} {id}
    GET /v1/processes/{id}/logs {id}
    POST /v1/processes/{id}/input {id}
    POST /v1/processes/{id}/kill {id}
    POST /v1/processes/{id}/stop {id}
    POST /v1/processes/{id}/terminal/resize {id}
    DELETE /v1/skills/trust/{digest} {digest}`,
  "owner and admins": `
    GET /opencode/session/{session} {session}
    PATCH /opencode/session/{session} {session}
    DELETE /opencode/session/{session} {session}
    GET /opencode/session/{session}/children {session}
    GET /opencode/session/{session}/todo {session}
    GET /opencode/session/{session}/diff {session}
    GET /opencode/session/{session}/message {session}
    GET /opencode/session/{session}/message/{message} {session}
    GET /opencode/session/{session}/message/{message} {message}
    POST /opencode/session/{session}/abort {session}
    POST /opencode/session/{session}/command {session}
    POST /opencode/session/{session}/fork {session}
    POST /opencode/session/{session}/message {session}
    POST /opencode/session/{session}/prompt_async {session}
    DELETE /v1/connections/{id} {id}
    GET /v1/fs/entries session_id
    DELETE /v1/fs/entry session_id
    GET /v1/fs/file session_id
    PUT /v1/fs/file session_id
    DELETE /v1/fs/file session_id
    POST /v1/fs/mkdir session_id
    POST /v1/fs/move session_id
    GET /v1/fs/stat session_id
    POST /v1/fs/upload-batch session_id
    GET /v1/haak/sessions/{session} {session}
    GET /v1/haak/sessions/{session}/history {session}
    GET /v1/haak/sessions/{session}/ledger {session}
    GET /v1/haak/sessions/{session}/turns {session}
    POST /v1/policy/explain entry
    POST /v1/policy/explain tenant
    POST /v1/runs session
    GET /v1/runs/{id} {id}
    POST /v1/runs/{id}/cancel {id}
    POST /v1/runs/{id}/decide {id}
    GET /v1/runs/{id}/events {id}
    POST /v1/runs/{id}/expand {id}
    GET /v1/runs/{id}/graph {id}
    GET /v1/sessions/{id} {id}
    POST /v1/sessions/{id}/rewind {id}
    GET /v1/sessions/{id}/tools {id}
    GET /v1/sessions/{id}/turns {id}`,
  "owner and admins, in a list": `
    GET /opencode/session directory
    GET /v1/runs session
    GET /v1/sessions cwd`,
  "owner and who answers": `
    POST /opencode/permission/{permission}/reply {permission}
    POST /opencode/session/{session}/permissions/{permission} {session}
    POST /opencode/session/{session}/permissions/{permission} {permission}
    POST /v1/approvals/{id}/answer {id}
    DELETE /v1/grants/{id} {id}`,
  "owner and who answers, in a list": `
    GET /v1/approvals session
    GET /v1/grants user`,
  tenant: `
    GET /v1/approvals/{id} {id}
    GET /v1/policy tenant`,
  "tenant, in a list": `
    GET /v1/mailbox/{agent} {agent}
    GET /v1/mcp/pins server`,
  "folders of the tenant": `
    GET /opencode/file directory
    GET /opencode/file path
    GET /opencode/file/content directory
    GET /opencode/file/content path
    POST /opencode/session directory
    DELETE /v1/config/mcp directory
    GET /v1/config/mcp directory
    PUT /v1/config/mcp directory
    DELETE /v1/config/skills directory
    GET /v1/config/skills directory
    PUT /v1/config/skills directory
    GET /v1/fs/entries path
    DELETE /v1/fs/entry path
    GET /v1/fs/file path
    PUT /v1/fs/file path
    DELETE /v1/fs/file path
    POST /v1/fs/mkdir path
    GET /v1/fs/stat path
    POST /v1/fs/upload-batch path
    POST /v1/fs/move from
    POST /v1/fs/move to
    POST /v1/processes cwd
    POST /v1/processes/run cwd
    POST /v1/runs cwd
    GET /v1/skills workspace
    POST /v1/skills/match workspace
    GET /v1/skills/show workspace
    POST /v1/skills/trust workspace`,
  admins: `
    POST /v1/agents/{agent}/processes/{process}/restart {process}
    GET /v1/identity/sessions tenant
    DELETE /v1/identity/sessions/{session} {session}
    DELETE /v1/identity/sessions/{session} tenant
    GET /v1/identity/tokens tenant
    POST /v1/identity/tokens tenant
    POST /v1/identity/tokens user
    DELETE /v1/identity/tokens/{token} {token}
    GET /v1/identity/users tenant
    POST /v1/identity/users tenant
    DELETE /v1/identity/users/{user} {user}
    DELETE /v1/identity/users/{user} tenant
    PATCH /v1/identity/users/{user} {user}
    PATCH /v1/identity/users/{user} tenant
    POST /v1/kill process
    POST /v1/kill session
    GET /v1/ledger/entries/{cid} {cid}
    GET /v1/ledger/entries/{cid}/proof {cid}
    POST /v1/policy/backtest tenant
    POST /v1/policy/coverage tenant
    POST /v1/policy/reload tenant
    POST /v1/policy/test tenant
    POST /v1/policy/validate tenant`,
  "admins, in a list": `
    GET /v1/ledger session
    DELETE /v1/mcp/pins server`,
  "admins of the server": `
    PATCH /v1/roster/{agent} {agent}`,
  operator: `
    DELETE /v1/identity/tenants/{tenant} {tenant}`,
  all: `
    GET /v1/agents/{agent} {agent}`,
};

/** Who shares what a request names, by method, path and member. */
export const OBJECTS: ReadonlyMap<string, keyof typeof SHARING> = new Map(
  Object.entries(SHARED).flatMap(([sharing, rows]) =>
    rows
      .split("\n")
      .flatMap((row) => (row.trim() === "" || !isSharing(sharing) ? [] : [[row.trim(), sharing] as const])),
  ),
);

/** What a caller gets that names something of the owner. */
export function objectCell(sharing: keyof typeof SHARING, relation: Relation): ObjectCell {
  return SHARING[sharing][RELATIONS.indexOf(relation)] ?? 404;
}

function isSharing(name: string): name is keyof typeof SHARING {
  return Object.hasOwn(SHARING, name);
}

const LEAST: Readonly<Record<Audience, CallerKind>> = {
  anyone: "unauthenticated",
  principal: "agent",
  person: "user",
  admin: "admin",
  server: "server admin",
};

/** What a kind of caller gets from an operation for an audience. */
export function permissionOf(audience: Audience, caller: CallerKind): MatrixCell {
  if (CALLERS.indexOf(caller) >= CALLERS.indexOf(LEAST[audience])) return "yes";
  return caller === "unauthenticated" ? 401 : 403;
}

/** The authorization matrix as a page of documentation. */
export function accessMatrix(operations: readonly Operation[]): string {
  const row = (door: string, audience: Audience) =>
    `| \`${door}\` | ${CALLERS.map((caller) => permissionOf(audience, caller)).join(" | ")} |`;
  const head = [`| | ${CALLERS.join(" | ")} |`, `| --- ${"| --- ".repeat(CALLERS.length)}|`];
  const rows = operations
    .toSorted((one, other) => one.path.localeCompare(other.path) || one.method.localeCompare(other.method))
    .map(({ method, path, audience }) => row(`${method} ${path}`, audience));
  const others = Object.values(OTHER_DOORS);
  return `${[
    "# Who may call what",
    INTRODUCTION,
    [...head, ...rows].join("\n"),
    "## What belongs to another",
    OBJECTS_INTRODUCTION,
    [
      `| | names | shared by | ${RELATIONS.join(" | ")} |`,
      `| --- | --- | --- ${"| --- ".repeat(RELATIONS.length)}|`,
      ...[...OBJECTS].toSorted(byPath).map(([row, sharing]) => {
        const [method, path, member] = row.split(" ");
        const cells = RELATIONS.map((relation) => objectCell(sharing, relation));
        return `| \`${method} ${path}\` | \`${member}\` | ${sharing.replace(", in a list", "")} | ${cells.join(" | ")} |`;
      }),
    ].join("\n"),
    "## Other doors",
    [...head, ...others.map(({ method, path, audience }) => row(`${method} ${path}`, audience))].join("\n"),
    others.map(({ method, path, about }) => `- \`${method} ${path}\`: ${about}.`).join("\n"),
    SOCKETS,
  ].join("\n\n")}\n`;
}

const INTRODUCTION = `Made from the declared operations by \`npm run schemas\`; \`packages/server/system/access-matrix.test.ts\` makes each of these
requests and compares the answer with this page.

*Unauthenticated* callers show no token, or one that is not known. An *agent* has a token of the kind \`agent\`, whatever its roles. A *user* is a
user or service without roles. A *server admin* is an admin of the tenant \`default\`. The *operator* is the start token, and the
private sockets of the home.

*yes* means that the operation is carried out for the caller's own tenant: of what belongs to another tenant, all but the
operator gets 404 or an empty list. Within a tenant, sessions, connections and approvals have rules of their own
([protocols](../protocols.md), [constitution](../constitution.md)).`;

const OBJECTS_INTRODUCTION = `A request that names something of another caller, by a parameter of its path or a member of its query or body. *Owner*, *user*,
*approver* and *admin* are of the tenant \`default\`, the *foreign admin* of another one, and also an approver there. *none* is an answer without it: an empty
list, or a change of nothing. Files and folders belong to the tenant that was given the folder. \`packages/server/system/access-objects.test.ts\` makes each
of these requests, and fails on an operation without a row.`;

function byPath([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number {
  const key = (row: string) => row.split(" ").slice(1).join(" ");
  return key(one).localeCompare(key(other)) || one.localeCompare(other);
}

const SOCKETS = `The sockets in the home (\`reins.sock\`, \`ahp.sock\` and the one of \`reins kill\`) have no row: only the user that runs Reins can
open them (mode 0600), and they serve the operator.`;
