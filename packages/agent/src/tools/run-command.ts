import { z } from "zod";
import { requireFolder } from "../files/workspace-files.ts";
import { type ProgramEnd, runProgram } from "./run-program.ts";
import { defineTool } from "./tool.ts";

/** A command line to run. */
export interface CommandRun {
  readonly command: string;
  /** The real folder it starts in. */
  readonly cwd: string;
  readonly timeoutMs: number;
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

  run({ command, cwd, timeoutMs }: CommandRun, signal: AbortSignal): Promise<ProgramEnd> {
    const limits = { timeoutMs, headBytes: HEAD_BYTES, tailBytes: TAIL_BYTES };
    return runProgram({ file: "/bin/sh", args: ["-c", command], cwd, env: this.#env, ...limits }, signal);
  }
}

/** Reduces an environment to the variables of commands. */
export function commandEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const passed = PASSED.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const]));
  return { PATH: "/usr/local/bin:/usr/bin:/bin", ...Object.fromEntries(passed), TERM: "dumb" };
}

const DEFAULT_TIMEOUT_MS = 120_000;
const MAX_TIMEOUT_MS = 600_000;

/** Runs a command line. */
export const runCommand = defineTool({
  name: "run_command",
  description:
    "Runs a command line with sh in the workspace and shows what it writes, the middle left out where that is much. It gets no input, and is ended after two minutes unless a longer time is given.",
  kind: "execute",
  arguments: z.strictObject({
    command: z.string().min(1).max(32_000).describe("The command line"),
    working_dir: z.string().min(1).optional().describe("Where it starts; the working folder when absent"),
    timeout_ms: z
      .int()
      .min(1)
      .max(MAX_TIMEOUT_MS)
      .optional()
      .describe("How long it may take, in milliseconds"),
  }),
  title: ({ command }) => command,
  prepare: async ({ working_dir = "." }, { roots }) => ({ locations: [await roots.resolve(working_dir)] }),
  async perform(
    { command, working_dir = ".", timeout_ms = DEFAULT_TIMEOUT_MS },
    { roots, commands, signal },
  ) {
    const cwd = await roots.resolve(working_dir);
    await requireFolder(cwd, working_dir);
    const end = await commands.run({ command, cwd, timeoutMs: timeout_ms }, signal);
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
