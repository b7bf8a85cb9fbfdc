import { basename } from "node:path";
import type { JsonObject } from "@reins/acp";
import { CliError } from "../../errors.ts";

interface ServerFlags {
  readonly name?: string | undefined;
  readonly env?: readonly string[] | undefined;
  readonly header?: readonly string[] | undefined;
  readonly sse?: boolean | undefined;
}

/** Programs that run another one, and the words that tell them to. */
const RUNNERS = new Set([
  "npx",
  "bunx",
  "uvx",
  "uv",
  "pnpm",
  "dlx",
  "tool",
  "run",
  "node",
  "deno",
  "python",
  "docker",
]);

/** An MCP server as `session/new` declares it, from a command or an address. */
export function declaredServer(
  words: readonly string[],
  { name, env = [], header = [], sse = false }: ServerFlags,
  environment: Readonly<Record<string, string | undefined>>,
): JsonObject {
  const [first = "", ...args] = words;
  const variableValue = (variable: string) => {
    const value = environment[variable];
    if (value !== undefined) return value;
    throw new CliError(`The variable ${variable} is not set.`, {
      next: "Set it where reins mcp is started.",
    });
  };
  if (!/^https?:\/\//i.test(first)) {
    if (header.length > 0 || sse)
      throw new CliError("--header and --sse are for a server with an address.", {
        next: "Pass variables to a command with --env.",
      });
    const variables = env.map((variable) => ({ name: variable, value: variableValue(variable) }));
    return { name: name ?? nameOf(words), command: first, args, env: variables };
  }
  if (args.length > 0 || env.length > 0 || !URL.canParse(first))
    throw new CliError(`${first} is not the address of one server.`, {
      next: "Give one address; --env is for a command.",
    });
  const headers = header.map((given) => {
    const [, named = "", variable = ""] = /^([^=]+)=(.+)$/.exec(given) ?? [];
    if (variable !== "") return { name: named, value: variableValue(variable) };
    throw new CliError(`--header ${given} names no variable.`, {
      next: "Name the variable that holds the value: --header Authorization=MY_VARIABLE",
    });
  });
  return { name: name ?? plain(new URL(first).hostname), type: sse ? "sse" : "http", url: first, headers };
}

/** The name of a server from its command: what is run, without what runs it, options and versions. */
function nameOf(words: readonly string[]): string {
  const told = words.filter((word) => !word.startsWith("-") && !RUNNERS.has(basename(word)));
  const [program = words[0] ?? ""] = told;
  return plain(basename(program).replace(/(?<=.)@.*$|\.(?:[cm]?[jt]s|py|exe)$/g, ""));
}

function plain(text: string): string {
  return text.replace(/[^\w.-]+/g, "-").slice(0, 64) || "server";
}
