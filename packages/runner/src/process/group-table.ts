import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { type ProcessEntry, type ProcessTable, signalProcess } from "./table.ts";

const run = promisify(execFile);
const COLUMNS = "pid=,ppid=,pgid=,stat=,command=";
const LINE = /^ *(\d+) +(\d+) +(\d+) +(\S+) (.*)$/;
const COMMAND_LENGTH = 200;

/** The processes of a machine without `/proc`, as `ps` tells them. */
export const groupTable: ProcessTable = { sight: "group", scan, find, signal: signalProcess };

async function* scan(): AsyncGenerator<ProcessEntry> {
  const { stdout } = await run("ps", ["-A", "-o", COLUMNS], { maxBuffer: 64 << 20, timeout: 10_000 });
  for (const line of stdout.split("\n")) {
    const entry = entryOf(line);
    if (entry) yield entry;
  }
}

async function find(pid: number): Promise<ProcessEntry | undefined> {
  for await (const entry of scan()) if (entry.pid === pid) return entry;
  return undefined;
}

/** What a line of `ps` says; nothing for a process that has died and was not reaped. */
function entryOf(line: string): ProcessEntry | undefined {
  const [, pid, parent, group, state, command = ""] = LINE.exec(line) ?? [];
  if (state === undefined || state.startsWith("Z")) return undefined;
  return {
    pid: Number(pid),
    parent: Number(parent),
    group: Number(group),
    // `ps` tells seconds at best, which would not tell two processes apart any better than the pid does.
    started: 0,
    command: () => command.slice(0, COMMAND_LENGTH),
    marks: () => ({}),
  };
}
