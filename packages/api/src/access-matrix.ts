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
  readonly door: string;
  readonly audience: Audience;
  readonly about: string;
}

/** The ways in beside the operations. */
export const OTHER_DOORS: readonly OtherDoor[] = [
  { door: "WebSocket /acp", audience: "principal", about: "ACP" },
  {
    door: "WebSocket /ws",
    audience: "principal",
    about: "HAAK; with `ws: {auth: none}` local callers without a token are agents",
  },
  { door: "WebSocket /", audience: "principal", about: "the same, for clients that know no path" },
  { door: "WebSocket /ahp", audience: "principal", about: "AHP" },
  { door: "POST /ahp", audience: "principal", about: "AHP" },
  { door: "GET /ui/", audience: "anyone", about: "the page, which is the same for all" },
];

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
  return `${[
    "# Who may call what",
    INTRODUCTION,
    [...head, ...rows].join("\n"),
    "## Other doors",
    [...head, ...OTHER_DOORS.map(({ door, audience }) => row(door, audience))].join("\n"),
    OTHER_DOORS.map(({ door, about }) => `- \`${door}\`: ${about}.`).join("\n"),
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

const SOCKETS = `The sockets in the home (\`reins.sock\`, \`ahp.sock\` and the one of \`reins kill\`) have no row: only the user that runs Reins can
open them (mode 0600), and they serve the operator.`;
