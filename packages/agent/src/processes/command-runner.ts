import { type ProgramEnd, runProgram } from "./run-program.ts";

/** A command line to be run. */
export interface CommandRun {
  readonly command: string;
  /** The real folder it starts in. */
  readonly cwd: string;
  readonly timeoutMs: number;
}

/** Where command lines run. A host may give one that the operating system confines. */
export interface CommandRunner {
  run(command: CommandRun, signal: AbortSignal): Promise<ProgramEnd>;
}

/** What of the environment every command gets; nothing else, and no keys. */
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

/** The environment of commands, out of a whole one. */
export function commandEnvironment(
  env: Readonly<Record<string, string | undefined>>,
): Readonly<Record<string, string>> {
  const passed = PASSED.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const]));
  return { PATH: "/usr/local/bin:/usr/bin:/bin", ...Object.fromEntries(passed), TERM: "dumb" };
}
