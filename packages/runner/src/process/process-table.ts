import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { promisify } from "node:util";
import { hasCode } from "@reins/kit";

/** The environment variable that holds a process's mark. */
export const MARK_VARIABLE = "REINS_PROCESS";

/**
 * Marks a process of ours, in two ways that its children inherit. The text is a variable of its
 * environment. The brand is its limit of file locks, which the kernel has not looked at since Linux 2.4: it stays
 * when a program clears its environment, closes every descriptor and leaves its session.
 */
export interface Mark {
  /** `<home>.<pid of the owner>.<id>` */
  readonly text: string;
  /** 18 digits: 5 of the home, 7 of the owner's pid, 6 of a count. */
  readonly brand: string;
}

/** The beginnings that all marks of one home, or of one owner, have in common. */
export type MarkPrefix = Mark;

const BRAND = /^(\d{5})(\d{7})\d{6}$/;
const COUNTS = 1_000_000;

/** What all marks of a home begin with. */
export function homePrefix(home: string): MarkPrefix {
  const digest = createHash("sha256").update(home).digest();
  return {
    text: `${digest.toString("hex", 0, 8)}.`,
    brand: String(10_000 + (digest.readUInt32BE(8) % 90_000)),
  };
}

/** What all marks begin with that one process, working from a home, gives. */
export function ownerPrefix(home: string, owner: number): MarkPrefix {
  const prefix = homePrefix(home);
  return { text: `${prefix.text}${owner}.`, brand: prefix.brand + String(owner).padStart(7, "0") };
}

/** The mark with that id and count. */
export function markOf(prefix: MarkPrefix, id: string, count: number): Mark {
  return { text: prefix.text + id, brand: prefix.brand + String(count % COUNTS).padStart(6, "0") };
}

/** The pid of the process that gave a mark, if the mark is of that home. */
export function ownerOf(found: Partial<Mark>, home: MarkPrefix): number | undefined {
  if (found.text?.startsWith(home.text)) {
    const owner = Number(found.text.slice(home.text.length).split(".", 1)[0]);
    if (Number.isSafeInteger(owner) && owner > 0) return owner;
  }
  const [, prefix, owner] = BRAND.exec(found.brand ?? "") ?? [];
  return prefix === home.brand ? Number(owner) : undefined;
}

/** A process that is alive. */
export interface ProcessEntry {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  /** The device number of its controlling terminal; 0 without one, or where that is not shown. */
  readonly terminal: number;
  /** When it started, in units of the table. With the pid, this names a process for good. */
  readonly started: number;
  /** Its command line, shortened. */
  command(): string;
  /** Its marks, as far as it carries any. */
  marks(): Partial<Mark>;
}

/**
 * What a table shows. `marks`: every process that carries a mark, wherever it went; it misses only a program that drops
 * both halves of its mark on purpose, or has another program start something for it. `group`: only the process group
 * and the children of its members.
 */
export type TableVisibility = "marks" | "group";

/** Takes a process at the moment at which it was seen. */
export type Visit = (entry: ProcessEntry) => void | Promise<void>;

/** The machine's processes. */
export interface ProcessTable {
  readonly visibility: TableVisibility;
  /**
   * Visits every live process, those that appear meanwhile included; a process that has died but was not reaped is none.
   * Scans that are asked for while one is under way are one, which begins when that is over.
   */
  scan(visit: Visit): Promise<void>;
  /** The process of that pid, if it is alive. */
  find(pid: number): Promise<ProcessEntry | undefined>;
  /** Sends a signal to a process, or with a negative pid to a group. False if there is none, or it is not ours to send. */
  signal(pid: number, signal: NodeJS.Signals): boolean;
}

/** Sends a signal as {@link ProcessTable.signal} does. */
function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  // To the kernel these mean our own group, every process, and init.
  if (!Number.isSafeInteger(pid) || Math.abs(pid) <= 1)
    throw new RangeError(`There is no process ${pid} to signal.`);
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if (hasCode(error, "ESRCH", "EPERM")) return false;
    throw error;
  }
}

const PID = /^[1-9]\d*$/;
const MARK = Buffer.from(`${MARK_VARIABLE}=`);
const NOTHING = Buffer.alloc(0);
const LOCKS = /^Max file locks +(\d{18}) /m;
const COMMAND_LENGTH = 200;
/** `PF_KTHREAD` of the kernel. */
const KERNEL_THREAD = 0x20_00_00;
/** How long processes are read before yielding to the event loop. */
const TURN_MS = 4;
/** The limit for programs that start processes faster than they can be read. */
const ROUNDS = 20;

/** Joins scans that are asked for at the same time, which cost as much as one: many commands may end at once. */
export class JoinedScans {
  readonly #scan: ProcessTable["scan"];
  #waiting: Visitor[] = [];
  #isScanning = false;

  constructor(scan: ProcessTable["scan"]) {
    this.#scan = scan;
  }

  /** Visits every process that is alive from now on. */
  join(visit: Visit): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.#waiting.push({ visit, resolve, reject });
    if (!this.#isScanning) void this.#run();
    return promise;
  }

  async #run(): Promise<void> {
    this.#isScanning = true;
    while (this.#waiting.length > 0) {
      const visitors = new Set(this.#waiting.splice(0));
      const failed = (visitor: Visitor, error: unknown) => {
        visitors.delete(visitor);
        visitor.reject(error);
      };
      try {
        await this.#scan(async (entry) => {
          const taking: Promise<void>[] = [];
          for (const visitor of visitors)
            try {
              const taken = visitor.visit(entry);
              if (taken) taking.push(taken.catch((error: unknown) => failed(visitor, error)));
            } catch (error) {
              failed(visitor, error);
            }
          if (taking.length > 0) await Promise.all(taking);
        });
        for (const { resolve } of visitors) resolve();
      } catch (error) {
        for (const { reject } of visitors) reject(error);
      }
    }
    this.#isScanning = false;
  }
}

interface Visitor extends Pick<PromiseWithResolvers<void>, "resolve" | "reject"> {
  readonly visit: Visit;
}

const scans = new JoinedScans(scanProc);

/** The processes of a Linux machine, from `/proc`. */
const linuxTable: ProcessTable = {
  visibility: "marks",
  scan: (visit) => scans.join(visit),
  find: async (pid) => readProcess(pid),
  signal: signalProcess,
};

/**
 * A program that replaces itself again and again is never in a list that was read a moment ago, so the list is read
 * until it holds nothing new. Reading is synchronous: what is seen is then still there.
 */
async function scanProc(visit: Visit): Promise<void> {
  const seen = new Set<string>();
  let began = performance.now();
  for (let round = 0; round < ROUNDS; round += 1) {
    const fresh = readdirSync("/proc").filter((name) => PID.test(name) && !seen.has(name));
    if (fresh.length === 0) return;
    for (const name of fresh) {
      seen.add(name);
      const entry = readProcess(Number(name));
      if (entry) await visit(entry);
      if (performance.now() - began < TURN_MS) continue;
      await nextTurn();
      began = performance.now();
    }
  }
}

function readProcess(pid: number): ProcessEntry | undefined {
  const stat = procFile(`/proc/${pid}/stat`)?.toString("latin1");
  if (stat === undefined) return undefined;
  // The name, in brackets, may itself hold brackets and spaces.
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  const [state, parent, group, , terminal, , flags] = fields;
  if (state === "Z" || state === "X") return undefined;
  let marks: Partial<Mark> | undefined;
  return {
    pid,
    parent: Number(parent),
    group: Number(group),
    terminal: Number(terminal),
    started: Number(fields[19]),
    command: () => commandOf(pid, stat),
    // What the kernel runs itself has no environment, and on a small machine is most of the table.
    marks: () => {
      marks ??= (Number(flags) & KERNEL_THREAD) === 0 ? marksOf(pid) : {};
      return marks;
    },
  };
}

function commandOf(pid: number, stat: string): string {
  const words = procFile(`/proc/${pid}/cmdline`)?.toString().replaceAll("\0", " ").trim();
  const name = `[${stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")"))}]`;
  return (words || name).slice(0, COMMAND_LENGTH);
}

function marksOf(pid: number): Partial<Mark> {
  const [, brand] = LOCKS.exec(procFile(`/proc/${pid}/limits`)?.toString("latin1") ?? "") ?? [];
  const text = textIn(procFile(`/proc/${pid}/environ`) ?? NOTHING);
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

/** Reads a file of a process; undefined if it is gone or may not be read. */
function procFile(path: string): Buffer | undefined {
  try {
    return readFileSync(path);
  } catch {
    return undefined;
  }
}

const run = promisify(execFile);
const PS_COLUMNS = "pid=,ppid=,pgid=,stat=,command=";
const PS_LINE = /^ *(\d+) +(\d+) +(\d+) +(\S+) (.*)$/;

/** The processes of a machine without `/proc`, as `ps` lists them. */
export const groupTable: ProcessTable = {
  visibility: "group",
  scan: scanPs,
  find: findPs,
  signal: signalProcess,
};

async function scanPs(visit: Visit): Promise<void> {
  const { stdout } = await run("ps", ["-A", "-o", PS_COLUMNS], { maxBuffer: 64 << 20, timeout: 10_000 });
  for (const line of stdout.split("\n")) {
    const entry = psEntry(line);
    if (entry) await visit(entry);
  }
}

async function findPs(pid: number): Promise<ProcessEntry | undefined> {
  let found: ProcessEntry | undefined;
  await scanPs((entry) => {
    if (entry.pid === pid) found = entry;
  });
  return found;
}

/** What a line of `ps` says; nothing for a process that has died and was not reaped. */
function psEntry(line: string): ProcessEntry | undefined {
  const [, pid, parent, group, state, command = ""] = PS_LINE.exec(line) ?? [];
  if (state === undefined || state.startsWith("Z")) return undefined;
  return {
    pid: Number(pid),
    parent: Number(parent),
    group: Number(group),
    terminal: 0,
    // `ps` shows seconds at best, which distinguish two processes no better than the pid does.
    started: 0,
    command: () => command.slice(0, COMMAND_LENGTH),
    marks: () => ({}),
  };
}

/** The process table of this machine. */
export const systemTable: ProcessTable = existsSync("/proc/self/stat") ? linuxTable : groupTable;

/** A number of processes and the memory they hold. */
export interface MemoryUse {
  readonly processes: number;
  readonly bytes: number;
}

/**
 * Measures families of processes: the groups that its roots lead, and their children. Reads `/proc` once for all;
 * `undefined` where there is none.
 */
export function memoryOf(families: readonly (readonly number[])[]): readonly MemoryUse[] | undefined {
  const uses = families.map(() => ({ processes: 0, bytes: 0 }));
  const names = attempt(() => readdirSync("/proc"))?.filter((name) => PID.test(name));
  if (!names || names.length === 0) return undefined;
  const familyOf = new Map<number, number>();
  for (const [index, roots] of families.entries()) for (const pid of roots) familyOf.set(pid, index);
  const groups = new Map(familyOf);
  for (const name of names.sort((left, right) => Number(left) - Number(right))) {
    const status = procFile(`/proc/${name}/status`)?.toString("latin1");
    if (status === undefined) continue;
    const index = groups.get(numberIn(status, "NSpgid")) ?? familyOf.get(numberIn(status, "PPid"));
    const use = index === undefined ? undefined : uses[index];
    if (index === undefined || !use) continue;
    familyOf.set(Number(name), index);
    use.processes += 1;
    use.bytes += numberIn(status, "VmRSS") * 1_024;
  }
  return uses;
}

/** The first number on a line of a process's status; 0 when there is none. */
function numberIn(status: string, name: string): number {
  const [, digits = "0"] = new RegExp(`^${name}:\\s*(\\d+)`, "m").exec(status) ?? [];
  return Number(digits);
}

function attempt<Result>(look: () => Result): Result | undefined {
  try {
    return look();
  } catch {
    // The process has gone, or there is no /proc.
    return undefined;
  }
}
