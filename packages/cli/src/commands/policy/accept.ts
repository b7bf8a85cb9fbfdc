import { createInterface } from "node:readline/promises";
import { policyOperations } from "@reins/api";
import { ConstitutionFile, constitutionDifference } from "@reins/policy";
import type { z } from "zod";
import { type ApiClient, incompatible } from "../../client/api-client.ts";
import { CLIENT, CLIENT_CODES, CLIENT_HELP, withClient } from "../../client/connect.ts";
import { command } from "../../command.ts";
import { CliError, EXIT } from "../../errors.ts";
import { print } from "../../output.ts";
import { printable } from "../../printable.ts";
import { describeDifference } from "./diff.ts";

type Status = z.output<typeof policyOperations.getPolicy.answer>;
type Loaded = NonNullable<Status["waiting"]>;

export const acceptCommand = command({
  summary: "put a constitution into force that allows more",
  description: "Shows how a changed constitution differs from the one in force, and puts it into force.",
  inputs: {
    tenant: ["--tenant <id>", "the tenant whose constitution it is (default: one's own)"],
    yes: ["--yes", "do not ask"],
    dryRun: ["--dry-run", "only show it"],
    ...CLIENT,
    json: ["--json", "print the difference as JSON; does not ask"],
  },
  note: `On a terminal it asks first. Accepts exactly what was shown: a file that changed
meanwhile is rejected.

${CLIENT_HELP}`,
  examples: [
    "reins policy accept",
    "reins policy accept --dry-run           only show what it would change",
    "reins policy accept --tenant acme --yes",
  ],
  codes: { ...CLIENT_CODES, failed: "nothing waits, or it was rejected; the message says why" },
  run: ({ tenant, yes, dryRun, ...flags }) =>
    withClient(flags, async (client) => {
      const query = { tenant };
      const status = await client.call(policyOperations.reloadPolicy, { query });
      const { waiting, in_force } = status;
      if (!waiting) throw nothingPending(status);
      const difference = differenceOf(in_force, waiting, client.address);
      if (!flags.json)
        print(
          difference ? describeDifference(difference) : "Nothing is in force now, so nothing is allowed.\n",
        );
      const output = process.stdout.isTTY ? process.stdout : process.stderr;
      const accepted = !dryRun && (yes || flags.json || (await isAgreed(process.stdin, output)));
      if (accepted) await enforce(client, query, waiting);
      return {
        json: { tenant: status.tenant, accepted, ...hashesOf(waiting), difference },
        text: () =>
          accepted ? `\nIn force now for ${status.tenant}.\n` : "\nNothing was changed; it still waits.\n",
      };
    }),
});

/** Accepts exactly what was shown; the server rejects it if the file changed meanwhile. */
async function enforce(
  client: ApiClient,
  query: { tenant: string | undefined },
  waiting: Loaded,
): Promise<void> {
  const advice = {
    conflict: "The file changed meanwhile. Run the same command again to see the new difference.",
  };
  await client.call(policyOperations.acceptPolicy, { query, body: hashesOf(waiting), advice });
}

function hashesOf({ rules_hash, constitution_hash }: Loaded) {
  return { rules_hash, constitution_hash };
}

function differenceOf(before: Loaded | null, after: Loaded, address: string) {
  if (!before) return undefined;
  const [old, now] = [ConstitutionFile.safeParse(before.file), ConstitutionFile.safeParse(after.file)];
  if (old.success && now.success) return constitutionDifference(old.data, now.data);
  throw incompatible("It sent constitutions that cannot be read", address, old.error ?? now.error);
}

function nothingPending({ tenant, fault }: Status): CliError {
  if (fault !== null)
    return new CliError(`The constitution of ${tenant} is not valid, so it cannot be accepted.`, {
      next: `${printable(fault)}\nRepair it; reins policy check shows where.`,
      exitCode: EXIT.failed,
    });
  return new CliError(`No changed constitution of ${tenant} waits to be accepted.`, {
    next: "One that is no looser applies at once. To see what a draft would change: reins policy diff <old> <new>",
    exitCode: EXIT.failed,
  });
}

type TerminalInput = NodeJS.ReadableStream & { readonly isTTY?: boolean };

/** Asks for confirmation on a terminal; without one, running the command is the confirmation. */
export async function isAgreed(input: TerminalInput, output: NodeJS.WritableStream): Promise<boolean> {
  if (!input.isTTY) return true;
  const lines = createInterface({ input, output });
  try {
    const answer = await lines.question("\nPut it into force? [y/N] ");
    return /^y(es)?$/i.test(answer.trim());
  } finally {
    lines.close();
  }
}
