import { approvalOperations, type Grant } from "@reins/api";
import { type ApiClient, idByPrefix } from "../../client/api-client.ts";
import { CLIENT, CLIENT_CODES, CLIENT_HELP, withClient } from "../../client/connect.ts";
import { operationCommand } from "../../client/operation-command.ts";
import { command } from "../../command.ts";
import { pageWidth, printPages } from "../../output.ts";
import { ago, formatTime, timeLeft } from "../../time.ts";
import { argumentLines, type SheetRow, sheet } from "./sheet.ts";
import { effectWords, exact, exactWords } from "./words.ts";

export const grantsCommand = command({
  summary: "list the grants",
  description:
    "Lists the grants that --always created: what each allows, for whom, and how often it was used.",
  inputs: {
    user: ["--user <id>", "only those for this user"],
    agent: ["--agent <id>", "only those for this agent"],
    all: ["--all", "also revoked and expired ones"],
    ...CLIENT,
    json: ["--json", "print the grants as one JSON document"],
  },
  note: CLIENT_HELP,
  examples: ["reins approvals grants", 'reins approvals grants --agent claude --json | jq -r ".grants[].id"'],
  codes: CLIENT_CODES,
  run: ({ user, agent, all, ...flags }) =>
    withClient(flags, (client) =>
      printPages(
        grantPages(client, { user, agent }, (grant) => all || isInForce(grant, new Date())),
        {
          json: flags.json ? "grants" : undefined,
          text: (page) => page.map((grant) => describeGrant(grant, new Date(), pageWidth())).join(""),
          none: "There are no grants.\n",
        },
      ),
    ),
});

export const revokeCommand = operationCommand({
  operation: approvalOperations.revokeGrant,
  summary: "revoke a grant",
  description: "Revokes a grant, from the next decision on.",
  inputs: { id: ["<grant>", "the grant's id, or the beginning of it", { find: grantId }] },
  output: ({ id }) => ({
    text: () => `revoked  ${id}\n  From the next decision on a person is asked again.\n`,
  }),
  advice: {
    not_found: "To see which there are: reins approvals grants --all",
    conflict: "Nothing was changed.",
  },
  jsonHelp: "print the grant as JSON",
  examples: ["reins approvals revoke grt_9fKp"],
});

const ID_FORMAT = { what: "grant", mark: "grt_", length: 26, list: "reins approvals grants --all" } as const;

const PAGE = 50;

function grantId(given: string, client: Pick<ApiClient, "call">): Promise<string> {
  return idByPrefix(given, ID_FORMAT, [() => grantPages(client, {}, () => true)]);
}

async function* grantPages(
  client: Pick<ApiClient, "call">,
  filter: { readonly user?: string | undefined; readonly agent?: string | undefined },
  isWanted: (grant: Grant) => boolean,
): AsyncGenerator<Grant[]> {
  let after: string | undefined;
  do {
    const query = { ...filter, after, limit: PAGE };
    const { grants, next } = await client.call(approvalOperations.listGrants, { query });
    yield grants.filter(isWanted);
    after = next;
  } while (after !== undefined);
}

export function describeGrant(grant: Grant, now: Date, width: number): string {
  const rows: SheetRow[] = [
    { label: "grant", lines: [`${grant.id}, ${standing(grant, now)}`] },
    { label: "lets", lines: [`agent ${exact(grant.agent)}${through(grant)} for user ${exact(grant.user)}`] },
    { label: "do", lines: grant.prefix ? [] : grant.effects.map(effectWords) },
    { label: "begins", lines: prefixLines(grant) },
    { label: "given", lines: grant.arguments === undefined ? [] : argumentLines(grant.arguments) },
    { label: "with", lines: [`${exact(grant.tool)} in ${exact(grant.cwd)}`] },
    {
      label: "by",
      lines: [
        `${grant.by.map(exact).join(", ")} at ${formatTime(grant.created_at)} (${exact(grant.approval)})`,
      ],
    },
    { label: "until", lines: inputLines(grant) },
    { label: "used", lines: [uses(grant, now)] },
  ];
  return `${sheet(rows, width)}\n`;
}

/** Describes a grant for commands that begin with the same words. */
function prefixLines({ prefix }: Grant): string[] {
  if (!prefix) return [];
  return [
    `${prefix.map(exact).join(" ")} …`,
    "any single command that begins so: no redirection, substitution or variable, nothing outside of the folder",
  ];
}

/** The grant ends when one of these files changes. */
function inputLines({ input_state = {} }: Grant): string[] {
  return Object.keys(input_state).map((path) => `${exact(path)} changes`);
}

export function isInForce({ revoked_at, expires_at, unreadable }: Grant, now: Date): boolean {
  if (revoked_at !== undefined || unreadable !== undefined) return false;
  return expires_at === undefined || Date.parse(expires_at) > now.getTime();
}

function standing({ revoked_at, revoked_by, expires_at, unreadable }: Grant, now: Date): string {
  if (revoked_at !== undefined)
    return `${revoked_by === undefined ? "ran out" : `revoked by ${exact(revoked_by)}`} at ${formatTime(revoked_at)}`;
  if (unreadable !== undefined) return `counts no more: ${exactWords(unreadable)}`;
  return expires_at === undefined ? "until revoked" : timeLeft({ expires_at }, now);
}

function through({ chain }: Grant): string {
  return chain.length === 0 ? "" : `, begun by ${chain.map(exact).join(", which began ")},`;
}

function uses({ uses, used_at }: Grant, now: Date): string {
  if (uses === 0 || used_at === undefined) return "never";
  return `${uses === 1 ? "once" : `${uses} times`}, last ${ago(used_at, now)}`;
}
