import { z } from "zod";
import { requireFolder } from "../files/workspace-files.ts";
import { backgroundOf } from "./background-commands.ts";
import { type ProgramEnd, runProgram } from "./run-program.ts";
import { defineTool } from "./tool.ts";

/** A command line to run. */
export interface CommandRun {
  readonly command: string;
  /** The real folder it starts in. */
  readonly cwd: string;
  readonly timeoutMs: number;
  /** Receives what it writes, as it comes. */
  readonly onOutput?: (piece: Buffer) => void;
}

/** Runs command lines. A host may provide a sandbox. */
export interface CommandRunner {
  run(command: CommandRun, signal: AbortSignal): Promise<ProgramEnd>;
}

/** The only variables that commands inherit: no keys. */
const PASSED = ["PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "TMPDIR"];
const HEAD_BYTES = 24 * 1024;
const TAIL_BYTES = 24 * 1024;

/** Runs command lines on this machine, as this user. */
export class SystemCommands implements CommandRunner {
  readonly #env: Readonly<Record<string, string>>;

  constructor(env: Readonly<Record<string, string>> = commandEnvironment(process.env)) {
    this.#env = env;
  }

  run({ command, cwd, timeoutMs, onOutput }: CommandRun, signal: AbortSignal): Promise<ProgramEnd> {
    const limits = { timeoutMs, headBytes: HEAD_BYTES, tailBytes: TAIL_BYTES };
    const run = { file: "/bin/sh", args: ["-c", command], cwd, env: this.#env, ...limits };
    return runProgram({ ...run, ...(onOutput && { onOutput }) }, signal);
  }
}

/** Reduces an environment to the variables of commands, and others that the operator passes. */
export function commandEnvironment(
  env: Readonly<Record<string, string | undefined>>,
  pass: readonly string[] = [],
): Readonly<Record<string, string>> {
  const passed = [...PASSED, ...pass].flatMap((name) =>
    env[name] === undefined ? [] : [[name, env[name]] as const],
  );
  return { PATH: "/usr/local/bin:/usr/bin:/bin", ...Object.fromEntries(passed), TERM: "dumb" };
}

const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_TIMEOUT_MS = 600_000;

/** How long a command in the background may run. */
const BACKGROUND_MS = 12 * 3_600_000;

/** Runs a command line. */
export const runCommand = defineTool({
  name: "run_command",
  description:
    "Runs a command line with sh in the workspace and shows what it writes, the middle left out where that is much. It gets no input, and is ended after two minutes unless a longer time is given. With background it goes on while you do other things, such as a server: look at it with read_command, end it with stop_command; it ends with the session.",
  kind: "execute",
  arguments: z.strictObject({
    command: z.string().min(1).max(32_000).describe("The command line"),
    working_dir: z.string().min(1).optional().describe("Where it starts; the working folder when absent"),
    timeout_ms: z
      .int()
      .min(1)
      .max(MAX_TIMEOUT_MS)
      .optional()
      .describe("How long it may take, in milliseconds; not for the background"),
    background: z.boolean().optional().describe("Whether it runs in the background"),
  }),
  title: ({ command, background = false }) => (background ? `In the background: ${command}` : command),
  prepare: async ({ working_dir = "." }, { roots }) => ({ locations: [await roots.resolve(working_dir)] }),
  async perform(
    { command, working_dir = ".", timeout_ms = DEFAULT_TIMEOUT_MS, background = false },
    context,
  ) {
    const { roots, commands, signal } = context;
    const cwd = await roots.resolve(working_dir);
    await requireFolder(cwd, working_dir);
    if (background) {
      const run = { command, cwd, timeoutMs: BACKGROUND_MS };
      return { text: await backgroundOf(context).start(run, commands, signal) };
    }
    const live = new LiveOutput(context.onOutput);
    const end = await commands
      .run({ command, cwd, timeoutMs: timeout_ms, onOutput: (piece) => live.add(piece) }, signal)
      .finally(() => live.stop());
    const passed = end.exitCode === 0 && !end.timedOut;
    const text = `${endingOf(end, timeout_ms)}\n${end.output}`.trimEnd();
    const check = checkOf(command);
    return {
      text,
      isError: !passed,
      ...(check !== undefined && { check: { command, passed, message: endingOf(end, timeout_ms) } }),
    };
  },
});

/** How much of the output of a running command is shown, and how often. */
const LIVE_BYTES = 4 * 1024;
const FIRST_LIVE_MS = 300;
const MOST_LIVE_MS = 5_000;

/** Shows the last lines of a running command, less and less often. */
class LiveOutput {
  readonly #show: (text: string) => Promise<void>;
  #tail = Buffer.alloc(0);
  #isCut = false;
  #waitMs = FIRST_LIVE_MS;
  #timer: NodeJS.Timeout | undefined;
  #shown: Promise<void> = Promise.resolve();

  constructor(show: (text: string) => Promise<void>) {
    this.#show = show;
  }

  add(piece: Buffer): void {
    const whole = Buffer.concat([this.#tail, piece.subarray(-LIVE_BYTES)]);
    this.#isCut ||= whole.length > LIVE_BYTES || piece.length > LIVE_BYTES;
    this.#tail = whole.subarray(-LIVE_BYTES);
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      this.#waitMs = Math.min(MOST_LIVE_MS, 2 * this.#waitMs);
      const text = lastLines(this.#tail, this.#isCut);
      if (text !== "") this.#shown = this.#shown.then(() => this.#show(text)).catch(() => undefined);
    }, this.#waitMs);
  }

  /** Shows nothing more; the result of the command does. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    await this.#shown;
  }
}

/** Lines that may be the rest of a key whose beginning was cut off, by which it would be recognized as one. */
const KEY_LINES = /^(?:[\w+/=-]{24,}\r?\n)+/;

/** Whole lines alone: of one that is cut, no secret would be recognized. */
function lastLines(tail: Buffer, isCut: boolean): string {
  const text = tail.toString("utf8");
  if (!isCut) return text;
  const end = text.indexOf("\n");
  return end < 0 ? "" : text.slice(end + 1).replace(KEY_LINES, "");
}

function endingOf({ exitCode, signal, timedOut }: ProgramEnd, timeoutMs: number): string {
  if (timedOut) return `timed out after ${timeoutMs} milliseconds`;
  return exitCode === null ? `ended by ${signal ?? "a signal"}` : `exit code ${exitCode}`;
}

/** What a command checks, by its words. */
const CHECKS: readonly (readonly [subject: string, RegExp])[] = [
  ["tests", /\b(?:npm|pnpm|yarn|bun) (?:run )?test\b|\b(?:pytest|vitest|jest|mocha|tox|rspec|phpunit)\b/],
  ["tests", /\b(?:cargo|go|dotnet|mvn|gradle|swift|mix|deno|make) (?:\S+ )?(?:test|check)\b/],
  ["types", /\b(?:tsc|mypy|pyright|flow check)\b/],
  ["lint", /\b(?:eslint|biome|ruff|clippy|golangci-lint|shellcheck|rubocop|flake8)\b/],
  ["lint", /\b(?:npm|pnpm|yarn) (?:run )?(?:lint|check|format)\b/],
  [
    "build",
    /\b(?:npm|pnpm|yarn) run build\b|\b(?:cargo|go|dotnet|gradle|swift) build\b|\bmake\b(?! (?:test|check))/,
  ],
];

/** The subject that a command checks, such as tests; `undefined` for other commands. */
export function checkOf(command: string): string | undefined {
  return CHECKS.find(([, sign]) => sign.test(command))?.[0];
}
