import { spawn } from "node:child_process";
import { root } from "./root.ts";

/** What a program came to. */
export interface CommandResult {
  succeeded: boolean;
  seconds: number;
  /** stdout and stderr as they came, unless shown live; and at its end the signal that killed it, if one did. */
  output: string;
}

/** Limits and wiring of one program run. */
export interface CommandOptions {
  /** Shows the program's output as it comes instead of keeping it. */
  live?: boolean;
  /** Seconds after which the program is killed. */
  deadline: number | undefined;
}

/** Runs a file of the repository on this Node, in the repository's root. */
export function runCommand(line: readonly string[], options: CommandOptions): Promise<CommandResult> {
  const began = performance.now();
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, line, {
      cwd: root,
      stdio: options.live ? "inherit" : ["ignore", "pipe", "pipe"],
      killSignal: "SIGKILL",
      ...(options.deadline !== undefined && { timeout: options.deadline * 1_000 }),
    });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding("utf8").on("data", (text: string) => {
        output += text;
      });
    }
    child.on("error", reject);
    child.on("close", (code, signal) => {
      const seconds = (performance.now() - began) / 1_000;
      if (signal) output += `\nEnded by ${signal} after ${seconds.toFixed(1)} s.\n`;
      resolve({ succeeded: code === 0, seconds, output });
    });
  });
}
