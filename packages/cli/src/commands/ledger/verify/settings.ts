import { readFile } from "node:fs/promises";
import { CliError, errorMessage } from "../../../errors.ts";
import type { LedgerFlags } from "../../../ledger/open-ledger.ts";
import { readTokens } from "../../../serving/tokens.ts";

/** The flags of `reins ledger verify` as they were written. */
export interface VerifyFlags extends LedgerFlags {
  readonly key?: string;
  readonly seen?: string;
  readonly token?: string;
}

/** What the caller trusts already, and what to show to a server. */
export interface VerifySettings {
  readonly logKey: string | undefined;
  readonly seen: string | undefined;
  readonly token: string | undefined;
}

/** Reads the flags, and the files that they name. */
export async function settleVerify({ key, seen, token }: VerifyFlags): Promise<VerifySettings> {
  return {
    logKey: key?.startsWith("@") ? (await read(key.slice(1), "--key")).trim() : key,
    // A note has several lines, which no path has.
    seen: seen === undefined || seen.includes("\n") ? seen : await read(seen, "--seen"),
    token: readTokens([token ?? []].flat(), {})[0],
  };
}

async function read(path: string, flag: string): Promise<string> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    throw new CliError(`${flag} names a file that cannot be read: ${errorMessage(error)}`, {
      next: "Check the path and who may read the file.",
      cause: error,
    });
  }
}
