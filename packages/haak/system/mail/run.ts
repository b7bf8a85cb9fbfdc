import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";

/** The exit and the output of a process. */
export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly said: string;
  readonly complained: string;
}

/** Runs a program of this folder to its end. */
export async function run(program: string, ...args: readonly (string | number)[]): Promise<Ended> {
  const path = fileURLToPath(new URL(`./${program}.ts`, import.meta.url));
  const child = spawn(process.execPath, [path, ...args.map(String)], { stdio: ["ignore", "pipe", "pipe"] });
  const [[code, signal], said, complained] = await Promise.all([
    once(child, "close"),
    text(child.stdout),
    text(child.stderr),
  ]);
  return { code, signal, said, complained };
}
