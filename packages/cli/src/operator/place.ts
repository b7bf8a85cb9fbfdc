import { CliError } from "../errors/cli-error.ts";
import { homeFolder } from "../home.ts";
import { readTokens } from "../serving/tokens.ts";
import type { OperatorFlags } from "./flags.ts";

/** Which Reins is meant: that of a home on this machine, or one behind an address. */
export type OperatorPlace =
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
