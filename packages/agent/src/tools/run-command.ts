import { z } from "zod";
import { expectFolder } from "../files/folder-check.ts";
import type { ProgramEnd } from "../processes/run-program.ts";
import { checkOf } from "./check.ts";
import { defineTool } from "./tool.ts";

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
    await expectFolder(cwd, working_dir);
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
  if (timedOut) return `ended after ${timeoutMs} milliseconds, which was its time`;
  return exitCode === null ? `ended by ${signal ?? "a signal"}` : `exit code ${exitCode}`;
}
