import { constants } from "node:fs";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { errorCode } from "@reins/kit";
import { z } from "zod";
import { SKIPPED_FOLDERS } from "./list-files.ts";
import { commandEnvironment } from "./run-command.ts";
import { runProgram } from "./run-program.ts";
import { defineTool, ToolError } from "./tool.ts";

const MAX_MATCHES = 100;
const LINE_LENGTH = 400;
const TIMEOUT_MS = 30_000;
const IGNORE_BYTES = 64 * 1024;
const OUTPUT_BYTES = 256 * 1024;
const LEFT_OUT = /^\[\d+ bytes left out\]$/;

/** Searches with grep, in a separate process: a malicious pattern can run forever and must not block the agent. */
export const search = defineTool({
  name: "search",
  description:
    "Searches the files of the workspace with grep and shows file, line number and line of at most 100 matches. The query is a basic regular expression. Dependencies and what .gitignore names are passed over, unless the path leads there.",
  kind: "search",
  isReadOnly: true,
  isConcurrent: true,
  arguments: z.strictObject({
    query: z.string().min(1).max(4_000).describe("What to look for, as grep takes it"),
    path: z.string().min(1).optional().describe("The folder or file; the working folder when absent"),
    glob: z.string().min(1).max(1_000).optional().describe("Only files whose name matches, such as *.ts"),
  }),
  title: ({ query, path }) => `Search ${path ?? "the workspace"} for ${query}`,
  prepare: async ({ path = "." }, { roots }) => ({ locations: [await roots.resolve(path)] }),
  async perform({ query, path = ".", glob }, { roots, signal, services, sessionId }) {
    const [cwd, real] = [await roots.resolve("."), await roots.resolve(path)];
    const include = glob === undefined ? [] : [`--include=${glob}`];
    const { output, exitCode, timedOut } = await runProgram(
      {
        file: "grep",
        args: [
          "-rnHIZ",
          ...(await excludesIn(cwd, await roots.shown(real))),
          ...include,
          "-e",
          query,
          "--",
          await roots.shown(real),
        ],
        cwd,
        env: commandEnvironment({}),
        timeoutMs: TIMEOUT_MS,
        headBytes: OUTPUT_BYTES,
        tailBytes: 0,
        stopWhenFull: true,
      },
      signal,
    );
    const all = output.split("\n").filter((line) => line !== "");
    const lines = all.filter((line) => !LEFT_OUT.test(line));
    if (exitCode === 2 && lines.every((line) => line.startsWith("grep: ")))
      throw new ToolError("failed", `grep rejected it: ${lines[0] ?? ""}`);
    const matches = await readableOf(lines, (file) => services.mayRead?.(sessionId, file) ?? true);
    if (matches.shown.length === 0 && matches.hidden === 0)
      return { text: timedOut ? "The search took too long." : `No matches for ${query}.` };
    const isWhole = !timedOut && lines.length === all.length;
    return { text: [...matches.shown, ...remarksOn(matches, isWhole)].join("\n") };
  },
});

/**
 * Arguments that exclude version control, dependencies and the names in the workspace's .gitignore. A search inside
 * such a folder is not excluded.
 */
async function excludesIn(cwd: string, path: string): Promise<readonly string[]> {
  const ignored = (await readHead(join(cwd, ".gitignore"), IGNORE_BYTES)).split(/\r?\n/).flatMap(nameIn);
  const within = new Set(path.split("/"));
  return [...new Set([...SKIPPED_FOLDERS, ...ignored])]
    .filter((name) => !within.has(name))
    .flatMap((name) =>
      SKIPPED_FOLDERS.has(name) ? [`--exclude-dir=${name}`] : [`--exclude-dir=${name}`, `--exclude=${name}`],
    );
}

/** The plain name in a line of .gitignore, such as `dist/` or `*.log`; other patterns are ignored. */
function nameIn(line: string): readonly string[] {
  const [, name] = /^\/?([^\s/!#][^\s/]*)\/?$/.exec(line.trim()) ?? [];
  return name === undefined || name === "*" ? [] : [name];
}

async function readHead(path: string, bytes: number): Promise<string> {
  try {
    await using file = await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(bytes), 0, bytes, 0);
    return buffer.toString("utf8", 0, bytesRead);
  } catch (error) {
    if (errorCode(error) === undefined) throw error;
    // Missing or unreadable.
    return "";
  }
}

/** The matches in readable files that are shown, and the number in other files. */
interface Matches {
  readonly shown: readonly string[];
  readonly hidden: number;
  readonly isCut: boolean;
}

/** Filters grep's matches: a file that the session may not read is not shown. */
async function readableOf(
  lines: readonly string[],
  mayRead: (file: string) => boolean | Promise<boolean>,
): Promise<Matches> {
  const known = new Map<string, boolean>();
  const found: string[] = [];
  let hidden = 0;
  for (const line of lines) {
    const [file = "", ...rest] = line.split("\0");
    if (rest.length === 0) continue;
    const bare = file.startsWith("./") ? file.slice(2) : file;
    const isReadable = known.get(bare) ?? (await mayRead(bare));
    known.set(bare, isReadable);
    if (!isReadable) hidden += 1;
    else if (found.length === MAX_MATCHES) return { shown: found, hidden, isCut: true };
    else found.push(shortened(`${bare}:${rest.join("\0")}`));
  }
  return { shown: found, hidden, isCut: false };
}

function shortened(line: string): string {
  return line.length > LINE_LENGTH ? `${line.slice(0, LINE_LENGTH)}…` : line;
}

function remarksOn({ hidden, isCut }: Matches, isWhole: boolean): readonly string[] {
  return [
    ...(hidden > 0 ? [`[${hidden} more in files that may not be read]`] : []),
    ...(isCut ? [`[cut here: only the first ${MAX_MATCHES} matches are shown]`] : []),
    ...(isWhole || isCut ? [] : ["[cut here: the output was too long; narrow the search]"]),
  ];
}
