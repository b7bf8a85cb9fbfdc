import { AhpError } from "@reins/ahp";
import { CliError, EXIT } from "../../errors.ts";
import { printable } from "../../output.ts";
import { readTokens } from "../../serving/tokens.ts";

/** The flags of the credentials for a harness. */
export const CREDENTIALS = {
  token: ["--token <secret>", "bearer token to send; @file reads it from a file"],
  apiKey: ["--api-key <secret>", "API key to send; @file reads it from a file"],
} as const;

interface CredentialFlags {
  readonly token?: string | undefined;
  readonly apiKey?: string | undefined;
}

export type Credentials =
  | { readonly type: "bearer"; readonly token: string }
  | { readonly type: "api_key"; readonly key: string };

export type NamedTarget =
  | { readonly transport: "stdio"; readonly command: string; readonly args: readonly string[] }
  | { readonly transport: "http" | "websocket"; readonly url: string }
  | { readonly transport: "unix"; readonly path: string };

/** Reads the credentials for a target; rejects those that its transport cannot send. */
export function readCredentials(
  { transport }: NamedTarget,
  { token, apiKey }: CredentialFlags,
): Credentials | undefined {
  if (token !== undefined && apiKey !== undefined) {
    throw new CliError("--token and --api-key cannot be given together.", { next: "Leave one of them out." });
  }
  const [secret] = readTokens([token ?? apiKey ?? []].flat(), {});
  if (secret === undefined) return undefined;
  if (transport === "http" || transport === "websocket")
    return token === undefined ? { type: "api_key", key: secret } : { type: "bearer", token: secret };
  throw new CliError(
    `A harness over ${transport} takes no credentials: --token and --api-key have no effect.`,
    {
      next: "Leave them out.",
    },
  );
}

export function stdioTarget([command, ...args]: readonly string[]): NamedTarget {
  if (command !== undefined) return { transport: "stdio", command, args };
  throw new CliError("No program to start is given.", {
    next: "Put it after two dashes: … stdio -- node harness.ts",
  });
}

export function urlTarget(transport: "http" | "websocket", url: string): NamedTarget {
  const schemes = transport === "http" ? ["http:", "https:"] : ["ws:", "wss:"];
  if (URL.canParse(url) && schemes.includes(new URL(url).protocol)) return { transport, url };
  throw new CliError(`"${url}" is not an address for ${transport}.`, {
    next: `Give one that starts with ${schemes.map((scheme) => `${scheme}//`).join(" or ")}.`,
  });
}

/** The name of a target without the secrets that an address may hold. */
export function targetName(target: NamedTarget): string {
  switch (target.transport) {
    case "stdio":
      return target.command;
    case "unix":
      return target.path;
    default: {
      const { origin, pathname } = new URL(target.url);
      return origin + pathname;
    }
  }
}

const NOT_REACHED = ["transport", "io", "timeout", "closed", "authentication"];

/** Explains why a connection to a harness failed. Returns other errors unchanged. */
export function connectionError(error: unknown, target: string): unknown {
  if (!(error instanceof AhpError)) return error;
  const text = printable(error.message);
  if (/\b401\b/.test(text)) {
    return new CliError(`The harness at ${target} rejects the credentials: ${text}`, {
      next: "Give --token <secret> or --api-key <secret>; @file reads it from a file.",
      exitCode: EXIT.unreachable,
      cause: error,
    });
  }
  if (NOT_REACHED.includes(error.code)) {
    return new CliError(`The harness at ${target} cannot be reached: ${text}`, {
      next: "Check that it runs at that address. For the harness of this machine, run: reins up",
      exitCode: EXIT.unreachable,
      cause: error,
    });
  }
  return new CliError(`The harness at ${target} sent no decision: ${text}`, {
    next: "Check the event type, its --payload and --depth; the harness says above what is wrong.",
    exitCode: EXIT.failed,
    cause: error,
  });
}
