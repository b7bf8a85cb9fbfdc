import { readFileSync } from "node:fs";
import { type Authenticator, knownTokens } from "@reins/ahp";
import { errorMessage } from "@reins/kit";
import { CliError } from "../errors.ts";

/**
 * Reads tokens from flags, which override the environment. `@path` reads the lines of a file, because other users
 * can see command lines.
 */
export function readTokens(flags: readonly string[], environment: NodeJS.ProcessEnv): string[] {
  if (flags.length > 0) return flags.flatMap((token) => secretsOf(token, "--token"));
  const token = environment.REINS_TOKEN;
  return token === undefined || token === "" ? [] : secretsOf(token, "REINS_TOKEN");
}

/** Accepts any of the tokens, each under a name of its own; everything without tokens. */
export function authenticatorOf(tokens: readonly string[]): { authenticate?: Authenticator } {
  if (tokens.length === 0) return {};
  const known = tokens.map((secret, index) => ({ principal: `token-${index + 1}`, secret }));
  return { authenticate: knownTokens(known) };
}

function secretsOf(token: string, source: string): string[] {
  const secrets = token.startsWith("@") ? linesOf(token.slice(1), source) : [token];
  if (secrets.length === 0) {
    throw new CliError(`${source} names a file without a token: ${token.slice(1)}`, {
      next: "Write one token per line.",
    });
  }
  for (const secret of secrets) {
    if (/^[\x21-\x7e]+$/.test(secret)) continue;
    throw new CliError(`${source} holds a token that no HTTP header can carry.`, {
      next: "Use printable ASCII characters without spaces, such as the output of: openssl rand -hex 32",
    });
  }
  return secrets;
}

function linesOf(path: string, source: string): string[] {
  try {
    const lines = readFileSync(path, "utf8").split("\n");
    return lines.map((line) => line.trim()).filter((line) => line !== "");
  } catch (error) {
    throw new CliError(`${source} names a file that cannot be read: ${errorMessage(error)}`, {
      next: "Check the path after the @ and the permissions of the file.",
      cause: error,
    });
  }
}
