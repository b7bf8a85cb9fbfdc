import { identityOperations, type Token } from "@reins/api";
import { idByPrefix } from "../client/api-client.ts";
import { operationCommand } from "../client/operation-command.ts";
import { group } from "../command.ts";
import { nameList } from "../flags.ts";
import { noticeOnStderr, printableLine, screenWidth, table } from "../output.ts";
import { readFutureTime, shortDuration } from "../time.ts";

const ID_FORMAT = { what: "token", mark: "tok_", length: 20, list: "reins token list --all" } as const;

const DESCRIPTION =
  "A token identifies the principal behind a program that connects to Reins: a user, in a role, with scopes, and the " +
  "agents it may act as. What a program claims about itself counts only as far as its token confirms it.";

export const tokenCommand = group(DESCRIPTION, {
  create: operationCommand({
    operation: identityOperations.createToken,
    summary: "create a token and print its secret",
    description: "Creates a token for a user and prints its secret, this once.",
    inputs: {
      user: ["--user <id>", "the user it acts for (required)"],
      tenant: ["--tenant <id>", "the user's tenant (default: one's own)"],
      role: ["--role <role>", "the one of the user's roles it acts in (default: all of them)"],
      scopes: [
        "--scopes <scopes>",
        "the scopes it is limited to, separated by commas (default: all of the user's)",
      ],
      agents: ["--agents <agents>", "the agents it may act as, * for any (default: none)"],
      started: [
        "--started <how>",
        "how the work it begins was started (default: api)",
        { choices: ["interactive", "background", "api", "sub-agent"] },
      ],
      kind: ["--kind <kind>", "who holds it; an agent never answers approvals (default: user)"],
      expires: [
        "--expires <time>",
        "when it expires: 12h, 30d, or a time (default: when it is revoked)",
        { read: readFutureTime },
      ],
    },
    output: (created) => ({ text: () => describeSecret(created) }),
    advice: {
      not_found:
        "To see the users of a tenant: reins user list --tenant <tenant>. To add one: reins user add",
    },
    jsonHelp: "print id and secret as JSON",
    note: "If stdout is no terminal, only the secret is written to it, ready to be piped.",
    examples: [
      "reins token create --user ann --agents claude --started interactive",
      "reins token create --user ci --kind service --scopes repo:read --expires 90d",
      "reins token create --user ann --agents reed > reed.token",
      "reins token create --user bob --tenant acme --role builder --json",
    ],
  }),
  list: operationCommand({
    operation: identityOperations.listTokens,
    summary: "list tokens, never their secrets",
    description: "Lists the valid tokens of a tenant, the newest first.",
    inputs: {
      tenant: ["--tenant <id>", "the tenant (default: one's own)"],
      all: ["--all", "also revoked and expired ones", { local: true }],
    },
    output: ({ tokens }, { all }) => {
      const now = new Date();
      const shown = tokens.filter((each) => all || isValid(each, now));
      return { json: { tokens: shown }, text: () => tokenTable(shown, now) };
    },
    examples: [
      "reins token list",
      "reins token list --tenant acme --all",
      `reins token list --json | jq -r '.tokens[] | select(.user == "ann").id'`,
    ],
  }),
  revoke: operationCommand({
    operation: identityOperations.revokeToken,
    summary: "revoke a token",
    description:
      "Revokes a token and ends the sub-agents begun with it. Requests with it are rejected from the next decision on.",
    inputs: {
      token: [
        "<token>",
        "the token's id, or the beginning of it",
        {
          find: (given, client, { tenant }) =>
            idByPrefix(given, ID_FORMAT, [
              async () => (await client.send(identityOperations.listTokens, { query: { tenant } })).tokens,
            ]),
        },
      ],
      tenant: ["--tenant <id>", "where to look an abbreviated id up (default: one's own)", { local: true }],
    },
    output: (_, { token: id }) => ({
      json: { id, revoked: true },
      text: () => `revoked  ${id}\n  Requests with it are rejected from the next decision on.\n`,
    }),
    advice: { not_found: `To see which there are: ${ID_FORMAT.list}`, conflict: "Nothing was changed." },
    examples: ["reins token revoke tok_4mZ8", "reins token revoke 4mZ8 --tenant acme"],
  }),
});

/** Writes only the secret to a stdout that is no terminal, so that it can be piped. */
function describeSecret({ id, secret }: { readonly id: string; readonly secret: string }): string {
  if (!process.stdout.isTTY) {
    noticeOnStderr(false)(`${id}: its secret is on stdout, this once; it is not stored.`);
    return `${secret}\n`;
  }
  const rows = [
    ["token", id],
    ["secret", secret],
  ];
  return `${table(rows)}\nThe secret is shown this once and is not stored. To revoke it: reins token revoke ${id}\n`;
}

function tokenTable(tokens: readonly Token[], now: Date): string {
  if (tokens.length === 0) return "There are none.\n";
  const rows = tokens.map((token) => {
    const { id, user, kind, role = "all", scopes, agents } = token;
    const columns = [
      id,
      user,
      kind,
      expiryOf(token, now),
      nameList(agents, "none"),
      nameList(scopes, "none"),
      role,
    ];
    return columns.map(printableLine);
  });
  return table([["token", "user", "kind", "ends", "agents", "scopes", "role"], ...rows], screenWidth());
}

/** Whether a token is accepted at an instant. */
export function isValid({ revoked, expires }: Token, now: Date): boolean {
  return revoked === undefined && (expires === undefined || Date.parse(expires) > now.getTime());
}

/** When a token expires, or that it has. */
export function expiryOf({ revoked, expires }: Token, now: Date): string {
  if (revoked !== undefined) return "revoked";
  if (expires === undefined) return "never";
  const left = Date.parse(expires) - now.getTime();
  return left > 0 ? `in ${shortDuration(left)}` : "expired";
}
