import { approvalOperations } from "@reins/api";
import type { Command } from "commander";
import type { z } from "zod";
import type { ApiClient } from "../../client/api-client.ts";
import {
  CLIENT_CODES,
  CLIENT_HELP,
  type ClientFlags,
  clientFlags,
  withClient,
} from "../../client/connect.ts";
import { idByPrefix } from "../../client/id-prefix.ts";
import { declareOperation } from "../../client/operation-command.ts";
import { helpText } from "../../errors.ts";
import { Output } from "../../output.ts";
import { pageWidth } from "../../printable.ts";
import { ago, formatTime, timeLeft } from "../../time.ts";
import { argumentLines } from "./arguments.ts";
import { type SheetRow, sheet } from "./sheet.ts";
import { effectWords, exact, exactWords } from "./words.ts";

const GRANTS_HELP = `${CLIENT_HELP}

Examples:
  reins approvals grants
  reins approvals grants --agent claude --json | jq -r ".grants[].id"`;

export function declareGrants(approvals: Command): void {
  clientFlags(
    approvals
      .command("grants")
      .summary("list the grants")
      .description(
        "Lists the grants that --always created: what each allows, for whom, and how often it was used.",
      )
      .option("--user <id>", "only those for this user")
      .option("--agent <id>", "only those for this agent")
      .option("--all", "also revoked and expired ones"),
    "print the grants as one JSON document",
  )
    .addHelpText("after", helpText(GRANTS_HELP, CLIENT_CODES))
    .action((_, command: Command) => grants(command.optsWithGlobals<GrantsFlags>()));
}

export function declareRevoke(approvals: Command): void {
  declareOperation(approvals, {
    name: "revoke",
    operation: approvalOperations.revokeGrant,
    summary: "revoke a grant",
    description: "Revokes a grant, from the next decision on.",
    inputs: {
      id: [
        "<grant>",
        "the grant's id, or the beginning of it",
        {
          find: (given, client) =>
            idByPrefix(given, ID_FORMAT, [
              async function* () {
                for await (const page of grantPages(client)) yield page.map(({ id }) => id);
              },
            ]),
        },
      ],
    },
    output: ({ id }) => ({
      text: () => `revoked  ${id}\n  From the next decision on a person is asked again.\n`,
    }),
    advice: { not_found: `To see which there are: ${ID_FORMAT.list}`, conflict: "Nothing was changed." },
    jsonHelp: "print the grant as JSON",
    examples: ["reins approvals revoke grt_9fKp"],
  });
}

interface GrantsFlags extends ClientFlags {
  readonly user?: string;
  readonly agent?: string;
  readonly all?: boolean;
}

async function grants(flags: GrantsFlags): Promise<void> {
  const { user, agent, all, json } = flags;
  const output = new Output(process.stdout);
  await withClient(flags, async (client) => {
    const listed: Grant[] = [];
    let found = false;
    for await (const page of grantPages(client, { user, agent })) {
      const now = new Date();
      const shown = page.filter((grant) => all || isInForce(grant, now));
      if (json) listed.push(...shown);
      else await output.write(shown.map((grant) => describeGrant(grant, now, pageWidth())).join(""));
      found ||= shown.length > 0;
      if (output.gone.aborted) return;
    }
    if (json) await output.write(`${JSON.stringify({ grants: listed })}\n`);
    else if (!found) await output.write("There are no grants.\n");
  });
}

const ID_FORMAT = { what: "grant", mark: "grt_", length: 26, list: "reins approvals grants --all" } as const;

export type Grant = z.output<typeof approvalOperations.revokeGrant.answer>;

interface GrantFilter {
  readonly user?: string | undefined;
  readonly agent?: string | undefined;
}

const PAGE = 50;

async function* grantPages(
  client: Pick<ApiClient, "call">,
  filter: GrantFilter = {},
): AsyncGenerator<Grant[]> {
  let after: string | undefined;
  do {
    const query = { ...filter, after, limit: PAGE };
    const { grants, next } = await client.call(approvalOperations.listGrants, { query });
    yield grants;
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
