/** What `reins` ends with. Programs rely on the numbers; they do not change. */
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

/** One of the numbers in {@link EXIT}. */
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** The part of a command's help that says what its exit codes mean. */
export function exitCodesHelp(meanings: Partial<Record<keyof typeof EXIT, string>>): string {
  const lines = Object.entries(EXIT).flatMap(([name, code]) => {
    const meaning = Object.entries(meanings).find(([key]) => key === name)?.[1];
    return meaning === undefined ? [] : [`  ${String(code).padStart(2)}  ${meaning}`];
  });
  return ["", "Exit codes:", ...lines].join("\n");
}

/** More about a {@link CliError}. */
interface CliErrorOptions extends ErrorOptions {
  /** What the person can do about it. */
  readonly next: string;
  /** What the command ends with; a mistake of usage unless said otherwise. */
  readonly exitCode?: ExitCode;
}

/** Something a person can do something about: `message` says what happened, `next` what to do. */
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

/** How errors are shown. */
interface ErrorStyle {
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
  return new CliError(`Something unexpected went wrong: ${errorMessage(error)}`, {
    next: "Run the same command with --verbose to see where, and report it.",
    exitCode: EXIT.failed,
    cause: error,
  });
}

/** The stack of an error and of what caused it. */
function stackOf(error: unknown): string {
  if (!(error instanceof Error)) return errorMessage(error);
  const stack = error.stack ?? error.message;
  return error.cause === undefined ? stack : `${stack}\nCaused by: ${stackOf(error.cause)}`;
}

/** The text of anything that was thrown. */
export function errorMessage(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** The operating system's code (`EADDRINUSE`, `EACCES`) of an error or of whatever caused it. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined;
  if ("code" in error && typeof error.code === "string" && /^E[A-Z0-9]+$/.test(error.code)) return error.code;
  return systemCode(error.cause);
}

/** Whether an error says that something is not there, or lies below what is no folder. */
export function isNotFound(error: unknown): boolean {
  return ["ENOENT", "ENOTDIR"].includes(systemCode(error) ?? "");
}
