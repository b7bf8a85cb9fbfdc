import { identityOperations } from "@reins/api";
import { type OperatorFlags, withOperator } from "../../../client/connect.ts";
import { noticeOnStderr, print } from "../../../output.ts";
import { table } from "../../../printable.ts";
import { readComing } from "../../../time.ts";

/** The flags of `reins token create` as they were written. */
export interface CreateFlags extends OperatorFlags {
  readonly user: string;
  readonly tenant?: string;
  readonly role?: string;
  readonly scopes?: readonly string[];
  readonly agents?: readonly string[];
  readonly started?: "interactive" | "sub-agent" | "background" | "api";
  readonly kind?: "user" | "service" | "agent";
  readonly expires?: string;
}

const ADVICE = {
  not_found: "To see the users of a tenant: reins user list --tenant <tenant>. To add one: reins user add",
} as const;

/** Makes a token and prints its secret, which is kept nowhere. */
export async function create(flags: CreateFlags): Promise<void> {
  const { user, tenant, role, scopes, agents, started, kind, json } = flags;
  const expires =
    flags.expires === undefined ? undefined : readComing(flags.expires, "--expires", new Date());
  const body = { user, tenant, role, scopes: listed(scopes), agents: listed(agents), started, kind, expires };
  const created = await withOperator(flags, (operator) =>
    operator.ask(identityOperations.createToken, { body, advice: ADVICE }),
  );
  if (json) return print(`${JSON.stringify(created)}\n`);
  const { id, secret } = created;
  if (process.stdout.isTTY)
    print(
      `${table([
        ["token", id],
        ["secret", secret],
      ])}\nThe secret is shown this once and kept nowhere. Revoke it with: reins token revoke ${id}\n`,
    );
  else {
    noticeOnStderr(false)(`${id}: its secret is on stdout, this once; it is kept nowhere.`);
    print(`${secret}\n`);
  }
}

function listed(names: readonly string[] | undefined): string[] | undefined {
  return names && [...names];
}
