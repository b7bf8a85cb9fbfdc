import { isLoopback } from "@reins/kit";
import type { TokenSource } from "@reins/sdk/http";
import { CliError } from "../errors.ts";
import { homeFolder, operatorSocketIn } from "../home.ts";
import { type Notice, noticeOnStderr } from "../output.ts";
import { isServed } from "../serving/listen.ts";
import { readTokens } from "../serving/tokens.ts";
import { ApiClient } from "./api-client.ts";

/** The flags that select a server, and `--json`. */
export const CLIENT = {
  home: ["--home <folder>", "the home folder"],
  url: ["--url <address>", "a remote Reins, such as https://reins.example.com"],
  secret: [
    "--token <secret>",
    "with --url: the token to send; @file reads it from a file, again when refused",
  ],
  json: ["--json", "print the response as JSON"],
} as const;

export interface ClientFlags {
  readonly home?: string | undefined;
  readonly url?: string | undefined;
  /** The token to send to `url`. */
  readonly secret?: string | undefined;
  readonly json?: boolean | undefined;
}

/** What the exit codes of a command that uses the API mean. */
export const CLIENT_CODES = {
  done: "done",
  failed: "refused or failed; the message says why",
  usage: "wrong usage",
  unreachable: "no Reins runs there, it cannot be reached, or it rejects the token",
  taken: "another process holds the home and does not answer",
} as const;

export const CLIENT_HELP = `Uses the Reins that runs on the home; if none runs, opens the home for this
command. REINS_URL and REINS_TOKEN set --url and --token.`;

type ServerLocation =
  | { readonly home: string; readonly url?: undefined }
  | { readonly url: URL; readonly token: TokenSource | undefined };

/**
 * Flags override the environment; an empty variable counts as unset. `REINS_TOKEN` has no effect without an address.
 */
export function resolveServer(
  flags: Omit<ClientFlags, "json">,
  environment: NodeJS.ProcessEnv,
): ServerLocation {
  const { home, url, secret } = flags;
  if (home !== undefined && url !== undefined)
    throw new CliError("--home and --url name two servers.", { next: "Leave one of them out." });
  const address = url ?? (home === undefined ? environment.REINS_URL || undefined : undefined);
  if (address !== undefined)
    return {
      url: readUrl(address, url === undefined ? "REINS_URL" : "--url"),
      token: tokenOf(secret, environment),
    };
  if (secret !== undefined)
    throw new CliError("The Reins of a home needs no token: --token has no effect.", {
      next: "Leave it out, or add --url.",
    });
  return { home: homeFolder(home, environment) };
}

/** Reports a token that is sent unencrypted to another machine. */
export function noticeUnencrypted(
  { url, token }: { readonly url: URL; readonly token: TokenSource | undefined },
  notice: Notice,
): void {
  if (url.protocol === "http:" && token !== undefined && !isLoopback(url.hostname))
    notice(`The token is sent unencrypted to ${url.host}.`);
}

/** The token to send. One that a file holds is read again when it is refused, because it may have been renewed. */
function tokenOf(flag: string | undefined, environment: NodeJS.ProcessEnv): TokenSource | undefined {
  const token = oneToken(flag, environment);
  const isInFile = (flag ?? environment.REINS_TOKEN)?.startsWith("@") ?? false;
  return isInFile ? () => oneToken(flag, environment) ?? "" : token;
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
  if (!url || !hasNoSecrets(url))
    throw new CliError(`${source} is not the address of a Reins.`, {
      next: "Give one such as http://127.0.0.1:18789 or https://reins.example.com; the token goes into --token.",
    });
  // reins up prints the address of AHP; the API is beside it.
  if (url.pathname === "/ahp") url.pathname = "/";
  return url;
}

function hasNoSecrets({ protocol, username, search, hash }: URL): boolean {
  return ["http:", "https:"].includes(protocol) && username + search + hash === "";
}

/**
 * Connects to the server at `--url`, else to the one that runs on the home, else opens the home in this process
 * until `use` is done.
 */
export async function withClient<Result>(
  flags: ClientFlags,
  use: (client: ApiClient) => Promise<Result>,
): Promise<Result> {
  const server = resolveServer(flags, process.env);
  if (server.url) {
    noticeUnencrypted(server, noticeOnStderr(flags.json));
    return use(ApiClient.at(server));
  }
  const { home } = server;
  const socket = operatorSocketIn(home);
  if (await isServed(socket)) return use(ApiClient.over(socket));
  // All of Reins, which is five times what a request to a running one needs.
  const { openHomeGateway } = await import("../serving/gateway.ts");
  const { gateway, close } = await openHomeGateway(home, noticeOnStderr(flags.json));
  try {
    return await use(new ApiClient({ address: home, fetch: (...request) => gateway.fetch(...request) }));
  } finally {
    await close();
  }
}
