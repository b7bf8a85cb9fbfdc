import { execFile } from "node:child_process";
import { CliError, EXIT } from "../../errors.ts";

export interface ServicePlan {
  /** A second service, for another home, needs another name. */
  readonly name: string;
  readonly command: readonly string[];
  readonly home: string;
  readonly folder: string;
  /** Lines NAME=value, such as the key of a model. */
  readonly environmentFile: string;
  readonly path: string;
}

export interface ServiceState {
  readonly enabled: boolean;
  readonly running: boolean;
  readonly pid: number | undefined;
}

export interface ServiceManager {
  readonly name: string;
  readonly file: string;
  readonly text: string;
  readonly logs: string;
  readonly advice: string;
  /** Throws with what to do where the manager is not available. */
  require(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
  /** Called after the file was removed. */
  forget(): Promise<void>;
  state(): Promise<ServiceState>;
}

interface ProgramResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end; exit code 127 if it cannot be started. */
export type RunProgram = (program: string, args: readonly string[]) => Promise<ProgramResult>;

const DEADLINE_MS = 60_000;

export const runProgram: RunProgram = (program, args) =>
  new Promise((resolve) => {
    execFile(program, args, { timeout: DEADLINE_MS, encoding: "utf8" }, (error, stdout, stderr) => {
      const code = error ? (typeof error.code === "number" ? error.code : 127) : 0;
      const why = code === 127 && stderr === "" ? String(error?.message) : stderr;
      resolve({ code, stdout, stderr: why });
    });
  });

export async function mustRun(run: RunProgram, program: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(program, args);
  if (code === 0) return stdout;
  const line = [program, ...args].join(" ");
  throw new CliError(`${line} failed: ${(stderr || stdout).trim() || `exit code ${code}`}`, {
    next: "Correct that, then run the same command again.",
    exitCode: EXIT.failed,
  });
}
