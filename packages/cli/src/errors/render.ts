import { EXIT, type ExitCode } from "../exit-codes.ts";
import { CliError } from "./cli-error.ts";

/** How errors are shown. */
export interface ErrorStyle {
  /** Shows where in the code it happened. */
  readonly verbose: boolean;
  /** One JSON document instead of lines. */
  readonly json: boolean;
}

/** An error as text for stderr. Where in the code it happened is nobody's business unless asked for. */
export function renderError(error: unknown, { verbose, json }: ErrorStyle): string {
  const { message, next, exitCode } = asCliError(error);
  if (json) {
    const stack = verbose ? { stack: stackOf(error) } : {};
    return `${JSON.stringify({ error: { message, next, exit_code: exitCode, ...stack } })}\n`;
  }
  const lines = [`reins: ${message}`, ...next.split("\n").map((line) => `  ${line}`)];
  if (verbose) lines.push("", stackOf(error));
  return `${lines.join("\n")}\n`;
}

/** The exit code that an error stands for. */
export function exitCodeOf(error: unknown): ExitCode {
  return asCliError(error).exitCode;
}

function asCliError(error: unknown): CliError {
  if (error instanceof CliError) return error;
  return new CliError(`Something unexpected went wrong: ${textOf(error)}`, {
    next: "Run the same command with --verbose to see where, and report it.",
    exitCode: EXIT.failed,
    cause: error,
  });
}

/** The stack of an error and of what caused it. */
function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return textOf(error);
  const stack = error.stack ?? error.message;
  return error.cause === undefined ? stack : `${stack}\nCaused by: ${stackOf(error.cause)}`;
}

/** The text of anything that was thrown. */
export function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
