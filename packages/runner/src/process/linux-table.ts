import { readdirSync, readFileSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { MARK_VARIABLE, type Mark } from "./mark.ts";
import { type ProcessEntry, type ProcessTable, signalProcess } from "./table.ts";

const PID = /^[1-9]\d*$/;
const MARK = Buffer.from(`${MARK_VARIABLE}=`);
const NOTHING = Buffer.alloc(0);
const LOCKS = /^Max file locks +(\d{18}) /m;
const COMMAND_LENGTH = 200;
/** `PF_KTHREAD` of the kernel. */
const KERNEL_THREAD = 0x20_00_00;
/** How many processes are read before others get their turn. */
const BATCH = 64;
/** Who keeps making processes faster than they can be read is not waited for. */
const PASSES = 20;

/** The processes of a Linux machine, from `/proc`. */
export const linuxTable: ProcessTable = { sight: "marks", scan, find, signal: signalProcess };

/**
 * A program that replaces itself again and again is never in a list that was read a moment ago, so the list is read
 * until it holds nobody new. Reading is synchronous: what is seen is then still there.
 */
async function* scan(): AsyncGenerator<ProcessEntry> {
  const seen = new Set<string>();
  for (let pass = 0; pass < PASSES; pass += 1) {
    const fresh = readdirSync("/proc").filter((name) => PID.test(name) && !seen.has(name));
    if (fresh.length === 0) return;
    for (const [index, name] of fresh.entries()) {
      seen.add(name);
      const entry = read(Number(name));
      if (entry) yield entry;
      if (index % BATCH === BATCH - 1) await nextTurn();
    }
  }
}

async function find(pid: number): Promise<ProcessEntry | undefined> {
  return read(pid);
}

function read(pid: number): ProcessEntry | undefined {
  const stat = contentOf(`/proc/${pid}/stat`)?.toString("latin1");
  if (stat === undefined) return undefined;
  // The name, in brackets, may itself hold brackets and spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, parent, group, , , , flags] = fields;
  if (state === "Z" || state === "X") return undefined;
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    started: Number(fields[19]),
    command: () => commandOf(pid, stat),
    // What the kernel runs itself has no environment, and on a small machine is most of the table.
    marks: () => ((Number(flags) & KERNEL_THREAD) === 0 ? marksOf(pid) : {}),
  };
}

function commandOf(pid: number, stat: string): string {
  const words = contentOf(`/proc/${pid}/cmdline`)?.toString().replaceAll("\0", " ").trim();
  const name = `[${stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")"))}]`;
  return (words || name).slice(0, COMMAND_LENGTH);
}

function marksOf(pid: number): Partial<Mark> {
  const [, brand] = LOCKS.exec(contentOf(`/proc/${pid}/limits`)?.toString("latin1") ?? "") ?? [];
  const text = textIn(contentOf(`/proc/${pid}/environ`) ?? NOTHING);
  return { ...(brand && { brand }), ...(text && { text }) };
}

/** The value of our variable in an environment. */
function textIn(environment: Buffer): string | undefined {
  let at = environment.indexOf(MARK);
  while (at > 0 && environment[at - 1] !== 0) at = environment.indexOf(MARK, at + 1);
  if (at < 0) return undefined;
  const end = environment.indexOf(0, at);
  return environment.toString("latin1", at + MARK.length, end < 0 ? environment.length : end);
}

/** A file of a process, unless the process has gone or is not ours to look into. */
function contentOf(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}
