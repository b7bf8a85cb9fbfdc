import { existsSync } from "node:fs";
import type { Command } from "commander";
import { CliError } from "../errors.ts";
import { databaseIn, homeFolder, operatorSocketIn } from "../home.ts";
import { noLedger } from "../ledger/ledger-error.ts";
import { noticeOnStderr } from "../output.ts";
import { isLoopback } from "../serving/address.ts";
import { isServed } from "../serving/socket.ts";
import { readTokens } from "../serving/tokens.ts";
import { Operator } from "./api-client.ts";
import { HttpCarrier } from "./transport.ts";

/** The flags that every command has which asks a Reins for something, as they were written. */
export interface OperatorFlags {
  readonly home?: string;
  readonly url?: string;
  readonly token?: string;
  readonly json?: boolean;
  readonly verbose?: boolean;
}

/** Declares the flags that say which Reins is meant, and `--json`. */
export function operatorFlags(command: Command, json = "print the answer as JSON"): Command {
  return command
    .option("--home <folder>", "the home folder")
    .option("--url <address>", "a Reins elsewhere, such as https://reins.example.com")
    .option("--token <secret>", "with --url: the token to show; @file reads it from a file")
    .option("--json", json);
}

/** What the exit codes of such a command mean. */
export const OPERATOR_CODES = {
  done: "done",
  failed: "refused or failed; the message says why",
  usage: "wrong usage",
  unreachable: "there is no Reins, it cannot be reached, or it does not let us in",
  taken: "another process holds the home and does not answer",
} as const;

/** The part of the help that says which Reins is asked. */
export const OPERATOR_HELP = `
Asks the Reins that runs on the home; where none runs, the home is opened for
this command. REINS_URL and REINS_TOKEN stand in for --url and --token.`;

/** Which Reins is meant: that of a home on this machine, or one behind an address. */
type OperatorPlace =
  | { readonly home: string; readonly url?: undefined }
  | { readonly url: URL; readonly token: string | undefined };

type PlaceFlags = Pick<OperatorFlags, "home" | "url" | "token">;

/** Flags override the environment; an empty variable counts as unset. `REINS_TOKEN` alone means nothing here. */
export function settlePlace(flags: PlaceFlags, environment: NodeJS.ProcessEnv): OperatorPlace {
  const { home, url, token } = flags;
  if (home !== undefined && url !== undefined)
    throw new CliError("--home and --url name two different Reins.", { next: "Leave one of them out." });
  const address = url ?? (home === undefined ? environment.REINS_URL || undefined : undefined);
  if (address !== undefined)
    return {
      url: readUrl(address, url === undefined ? "REINS_URL" : "--url"),
      token: oneToken(token, environment),
    };
  if (token !== undefined)
    throw new CliError("Nothing is shown to the Reins of a home: there --token has no effect.", {
      next: "Leave it out, or say with --url where to show it.",
    });
  return { home: homeFolder(home, environment) };
}

function oneToken(flag: string | undefined, environment: NodeJS.ProcessEnv): string | undefined {
  const tokens = readTokens(flag === undefined ? [] : [flag], environment);
  if (tokens.length <= 1) return tokens[0];
  throw new CliError(`${flag === undefined ? "REINS_TOKEN" : "--token"} names a file with several tokens.`, {
    next: "Give one token.",
  });
}

function readUrl(text: string, source: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (!url || !isPlain(url))
    throw new CliError(`${source} is no address of a Reins.`, {
      next: "Give one such as http://127.0.0.1:18789 or https://reins.example.com; the token goes into --token.",
    });
  // What reins up prints is where agents go; the API is beside it.
  if (url.pathname === "/ahp") url.pathname = "/";
  return url;
}

/** Whether an address holds nothing but a place; what else one can hold may be a secret. */
function isPlain({ protocol, username, search, hash }: URL): boolean {
  return ["http:", "https:"].includes(protocol) && username + search + hash === "";
}

/**
 * Runs something as the operator of a Reins: the one at `--url`, else the one that runs on the home, else the home itself,
 * opened in this process and closed afterwards.
 */
export async function withOperator<Result>(
  flags: OperatorFlags,
  use: (operator: Operator) => Promise<Result>,
): Promise<Result> {
  const place = settlePlace(flags, process.env);
  if (place.url) {
    if (place.url.protocol === "http:" && place.token !== undefined && !isLoopback(place.url.hostname))
      noticeOnStderr(flags.json)(`The token travels unencrypted to ${place.url.host}.`);
    return use(new Operator(new HttpCarrier(place)));
  }
  const { home } = place;
  const socket = operatorSocketIn(home);
  if (await isServed(socket)) return use(new Operator(new HttpCarrier({ socket })));
  if (!existsSync(databaseIn(home))) throw noLedger(home);
  const { HomeCarrier } = await import("./home-transport.ts");
  const carrier = await HomeCarrier.open(home, flags);
  try {
    return await use(new Operator(carrier));
  } finally {
    await carrier.close();
  }
}
