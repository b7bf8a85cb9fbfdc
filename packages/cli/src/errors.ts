import { errorMessage } from "@reins/kit";

/** The exit codes of `reins`. Programs rely on the numbers; they do not change. */
export const EXIT = {
  done: 0,
  failed: 1,
  usage: 2,
  unreachable: 3,
  taken: 4,
  blocked: 10,
  modified: 11,
  deferred: 12,
  escalated: 13,
} as const;

export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

interface CliErrorOptions extends ErrorOptions {
  readonly next: string;
  /** By default a mistake of usage. */
  readonly exitCode?: ExitCode;
}

/** An error for the user: `message` says what happened, `next` what to do. */
export class CliError extends Error {
  override readonly name = "CliError";
  readonly next: string;
  readonly exitCode: ExitCode;

  constructor(message: string, options: CliErrorOptions) {
    super(message, options);
    this.next = options.next;
    this.exitCode = options.exitCode ?? EXIT.usage;
  }
}

interface ErrorStyle {
  /** Whether to show the stack. */
  readonly verbose: boolean;
  /** Whether to write one JSON document instead of lines. */
  readonly json: boolean;
}

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

export function exitCodeOf(error: unknown): ExitCode {
  return asCliError(error).exitCode;
}

function asCliError(error: unknown): CliError {
  if (error instanceof CliError) return error;
  return new CliError(`Unexpected error: ${errorMessage(error)}`, {
    next: "Run the same command with --verbose to see where, and report it.",
    exitCode: EXIT.failed,
    cause: error,
  });
}

/** The stack of an error and its causes. */
function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return errorMessage(error);
  const stack = error.stack ?? error.message;
  return error.cause === undefined ? stack : `${stack}\nCaused by: ${stackOf(error.cause)}`;
}

/** The operating system's code (`EADDRINUSE`, `EACCES`) of an error or its cause. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if ("code" in error && typeof error.code === "string" && /^E[A-Z0-9]+$/.test(error.code)) return error.code;
  return systemCode(error.cause);
}

export function isNotFound(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR"].includes(systemCode(error) ?? "");
}
