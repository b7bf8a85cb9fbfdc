import { identityOperations, type User } from "@reins/api";
import { operationCommand } from "../client/operation-command.ts";
import { group } from "../command.ts";
import { nameList } from "../flags.ts";
import { printableLine, screenWidth, table } from "../output.ts";

const ADVICE = {
  not_found: "To see the users of a tenant: reins user list --tenant <tenant>",
  conflict: "To see who is there: reins user list. To change a user: reins user set <id>",
} as const;
const USER_TENANT = ["--tenant <id>", "the user's tenant (default: one's own)"] as const;
const TENANT = ["--tenant <id>", "the tenant (default: one's own)"] as const;

const DESCRIPTION =
  "Users are the people on whose behalf agents act, each in one tenant. A tenant is created with its first user, and " +
  "one tenant sees nothing of another.";

export const userCommand = group(DESCRIPTION, {
  list: operationCommand({
    operation: identityOperations.listUsers,
    summary: "list the users of a tenant",
    description: "Lists the users of a tenant.",
    inputs: { tenant: TENANT },
    output: ({ users }) => ({ text: () => userTable(users) }),
    examples: ["reins user list", "reins user list --tenant acme --json | jq -r '.users[].email'"],
  }),
  add: operationCommand({
    operation: identityOperations.addUser,
    summary: "add a user",
    description:
      "Adds a user, and the tenant with its first user. A user that was removed can be added again.",
    inputs: {
      id: ["<id>", "the user's name in rules and in the record"],
      name: ["--name <name>", "the person's name (required)"],
      email: ["--email <address>", "the person's email address (required)"],
      tenant: TENANT,
      roles: ["--role <roles>", "roles, separated by commas", { default: [[], "none"] }],
      scopes: ["--scopes <scopes>", "scopes, separated by commas", { default: [[], "none"] }],
    },
    output: (added) => ({ text: () => describeUser(added) }),
    advice: ADVICE,
    jsonHelp: "print the user as JSON",
    note: "The role admin may change users and tokens of its tenant, and accept its\npolicy. Scopes are what the constitution's tools require; * is all.",
    examples: [
      'reins user add ann --name "Ann Reed" --email ann@example.com --role admin',
      "reins user add bob --name Bob --email bob@acme.example --tenant acme",
    ],
  }),
  set: operationCommand({
    operation: identityOperations.setUser,
    summary: "change a user",
    description: "Changes the given members of a user and keeps the rest, from the next decision on.",
    inputs: {
      user: ["<id>", "the user"],
      name: ["--name <name>", "the person's name"],
      email: ["--email <address>", "the person's email address"],
      tenant: USER_TENANT,
      roles: ["--role <roles>", "all roles of the user, separated by commas"],
      scopes: ["--scopes <scopes>", "all scopes of the user, separated by commas"],
    },
    output: (changed) => ({ text: () => describeUser(changed) }),
    advice: ADVICE,
    jsonHelp: "print the user as JSON",
    examples: [
      "reins user set ann --role admin,reviewer",
      "reins user set ann --scopes repo:read,repo:write",
      "reins user set ann --scopes ''          no tool that requires a scope",
      "reins user set ci --tenant acme --email build@acme.example",
    ],
  }),
  remove: operationCommand({
    operation: identityOperations.removeUser,
    summary: "remove a user with its tokens",
    description:
      "Removes a user with its tokens and sub-agents, from the next decision on. What it did stays on the record.",
    inputs: { user: ["<id>", "the user"], tenant: USER_TENANT },
    output: (_, { user: id }) => ({
      json: { id, removed: true },
      text: () => `removed  ${id}, with its tokens and sub-agents\n`,
    }),
    advice: ADVICE,
    examples: ["reins user remove ann", "reins user remove ci --tenant acme"],
  }),
});

function userTable(users: readonly User[]): string {
  if (users.length === 0) return "There are none.\n";
  const rows = users.map(({ id, name, email, roles, scopes }) =>
    [id, name, email, nameList(roles, "none"), nameList(scopes, "none")].map(printableLine),
  );
  return table([["user", "name", "email", "roles", "scopes"], ...rows], screenWidth());
}

function describeUser({ id, tenant, name, email, roles, scopes }: User): string {
  const rows = [
    ["user", `${id} of tenant ${tenant}`],
    ["name", name],
    ["email", email],
    ["roles", nameList(roles, "none")],
    ["scopes", nameList(scopes, "none")],
  ];
  return table(rows.map((row) => row.map(printableLine)));
}
