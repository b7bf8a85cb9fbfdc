import { z } from "zod";
import { commandEnvironment } from "../../processes/command-runner.ts";
import { runProgram } from "../../processes/run-program.ts";
import { defineTool } from "../tool.ts";
import { ToolError } from "../tool-error.ts";

const MAX_MATCHES = 100;
const LINE_LENGTH = 400;
const TIMEOUT_MS = 30_000;
const OUTPUT_BYTES = 256 * 1024;

/**
 * Looks for a text. Grep does it, in a process of its own: a pattern that somebody else wrote can take for ever, and
 * must not take the agent along.
 */
export const search = defineTool({
  name: "search",
  description:
    "Searches the files of the workspace with grep and shows file, line number and line of at most 100 matches. The query is a basic regular expression.",
  kind: "search",
  isReadOnly: true,
  arguments: z.strictObject({
    query: z.string().min(1).max(4_000).describe("What to look for, as grep takes it"),
    path: z.string().min(1).optional().describe("The folder or file; the working folder when absent"),
    glob: z.string().min(1).max(1_000).optional().describe("Only files whose name matches, such as *.ts"),
  }),
  title: ({ query, path }) => `Search ${path ?? "the workspace"} for ${query}`,
  prepare: async ({ path = "." }, { roots }) => ({ locations: [await roots.resolve(path)] }),
  async perform({ query, path = ".", glob }, { roots, signal }) {
    const [cwd, real] = [await roots.resolve("."), await roots.resolve(path)];
    const include = glob === undefined ? [] : [`--include=${glob}`];
    const { output, exitCode, timedOut } = await runProgram(
      {
        file: "grep",
        args: ["-rnHI", "--exclude-dir=.git", ...include, "-e", query, "--", await roots.shown(real)],
        cwd,
        env: commandEnvironment({}),
        timeoutMs: TIMEOUT_MS,
        headBytes: OUTPUT_BYTES,
        tailBytes: 0,
        stopWhenFull: true,
      },
      signal,
    );
    const lines = output.split("\n").filter((line) => line !== "" && !/^\[\d+ bytes left out\]$/.test(line));
    if (exitCode === 2 && lines.every((line) => line.startsWith("grep: ")))
      throw new ToolError("failed", `grep did not take it: ${lines[0] ?? ""}`);
    if (lines.length === 0)
      return { text: timedOut ? "The search took too long." : `No matches for ${query}.` };
    return {
      text: [...lines.slice(0, MAX_MATCHES).map(shown), ...cutAfter(lines.length, timedOut)].join("\n"),
    };
  },
});

function shown(line: string): string {
  const bare = line.startsWith("./") ? line.slice(2) : line;
  return bare.length > LINE_LENGTH ? `${bare.slice(0, LINE_LENGTH)}…` : bare;
}

function cutAfter(count: number, timedOut: boolean): readonly string[] {
  if (count > MAX_MATCHES) return [`[cut here: only the first ${MAX_MATCHES} matches are shown]`];
  return timedOut ? ["[cut here: the search took too long]"] : [];
}
