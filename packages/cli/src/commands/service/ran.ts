import { execFile } from "node:child_process";
import { CliError, EXIT } from "../../errors.ts";

/** How a program ended. */
interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. One that cannot be started ended with 127. */
export type Run = (program: string, args: readonly string[]) => Promise<Ran>;

const DEADLINE_MS = 60_000;

/** Runs a program of this machine. */
export const ran: Run = (program, args) =>
  new Promise((resolve) => {
    execFile(program, args, { timeout: DEADLINE_MS, encoding: "utf8" }, (error, stdout, stderr) => {
      const code = error ? (typeof error.code === "number" ? error.code : 127) : 0;
      const why = code === 127 && stderr === "" ? String(error?.message) : stderr;
      resolve({ code, stdout, stderr: why });
    });
  });

/** Runs a program that has to work. */
export async function mustRun(run: Run, program: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(program, args);
  if (code === 0) return stdout;
  const line = [program, ...args].join(" ");
  throw new CliError(`${line} failed: ${(stderr || stdout).trim() || `exit code ${code}`}`, {
    next: "See to what it says, then run the same command again.",
    exitCode: EXIT.failed,
  });
}
