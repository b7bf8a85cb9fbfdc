import { execFile } from "node:child_process";
import { CliError, EXIT } from "../../errors.ts";

/** What is to be kept running, and with what. */
export interface ServicePlan {
  /** What the service is called; a second one, for another home, needs another name. */
  readonly name: string;
  /** The program and its arguments, absolute. */
  readonly command: readonly string[];
  readonly home: string;
  /** Where it runs: the user's home folder. */
  readonly folder: string;
  /** Variables in the form NAME=value, one on each line, such as the key of a model. */
  readonly environmentFile: string;
  /** Where programs are found. */
  readonly path: string;
}

/** How a service stands. */
export interface ServiceState {
  /** Whether it starts at login. */
  readonly enabled: boolean;
  readonly running: boolean;
  readonly pid: number | undefined;
}

/** Whatever keeps programs running for a user. */
export interface ServiceManager {
  /** What it is called, for messages. */
  readonly name: string;
  /** The file that says what is to be kept running. */
  readonly file: string;
  /** The text of that file. */
  readonly text: string;
  /** How to see what the service says. */
  readonly logs: string;
  /** What else a person may want to know. */
  readonly advice: string;
  /** Throws with what to do where it cannot be had. */
  require(): Promise<void>;
  /** Has it take the file up, and the service run from now on. */
  start(): Promise<void>;
  /** Ends the service. */
  stop(): Promise<void>;
  /** Told after the file was taken away. */
  forget(): Promise<void>;
  state(): Promise<ServiceState>;
}

/** How a program ended. */
interface ProgramResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program to its end. One that cannot be started ended with 127. */
export type RunProgram = (program: string, args: readonly string[]) => Promise<ProgramResult>;

const DEADLINE_MS = 60_000;

/** Runs a program of this machine. */
export const runProgram: RunProgram = (program, args) =>
  new Promise((resolve) => {
    execFile(program, args, { timeout: DEADLINE_MS, encoding: "utf8" }, (error, stdout, stderr) => {
      const code = error ? (typeof error.code === "number" ? error.code : 127) : 0;
      const why = code === 127 && stderr === "" ? String(error?.message) : stderr;
      resolve({ code, stdout, stderr: why });
    });
  });

/** Runs a program that has to work. */
export async function mustRun(run: RunProgram, program: string, args: readonly string[]): Promise<string> {
  const { code, stdout, stderr } = await run(program, args);
  if (code === 0) return stdout;
  const line = [program, ...args].join(" ");
  throw new CliError(`${line} failed: ${(stderr || stdout).trim() || `exit code ${code}`}`, {
    next: "See to what it says, then run the same command again.",
    exitCode: EXIT.failed,
  });
}
