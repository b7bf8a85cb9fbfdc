import picomatch from "picomatch";
import { z } from "zod";
import { tableFile } from "../table-file.ts";

const PLAIN = /^[\x21-\x7e]*$/;
const LOOSE_END = /(?<![. ])[. ]+(?=\/|$)/g;

/**
 * One spelling for all the spellings that some file system takes for the same path: case, composed and decomposed
 * letters, characters that do not show, dots and spaces at the end of a name, data streams. Only for finding what is
 * guarded, never for finding what is allowed.
 */
export function fold(path: string): string {
  const composed = PLAIN.test(path)
    ? path
    : path.normalize("NFKC").replace(/\p{Default_Ignorable_Code_Point}/gu, "");
  const folded = composed.toLowerCase().replace(/:[^/]*(?=\/|$)/g, "");
  return folded.replace(LOOSE_END, (end, at: number) => (folded[at - 1] === "/" || at === 0 ? end : ""));
}

const ANCHORED = /^\^\(\?:([\s\S]*)\)\$$/;

/**
 * One test for many globs. Paths are folded first, so that no spelling of a guarded path slips by. Globs that start
 * with `**\/` share one expression that looks at each part of a path once, which is ten times as fast as one by one. It
 * is made when there is something to test.
 */
function patternList(globs: readonly string[]): (path: string) => boolean {
  if (globs.length === 0) return () => false;
  let matcher: RegExp | undefined;
  return (path) => {
    matcher ??= matcherOf(globs);
    return matcher.test(fold(path));
  };
}

function matcherOf(globs: readonly string[]): RegExp {
  const anywhere = globs.filter((glob) => glob.startsWith("**/")).map((glob) => expression(glob.slice(3)));
  const fixed = globs.filter((glob) => !glob.startsWith("**/")).map(expression);
  const alternatives = [
    ...(anywhere.length > 0 ? [`(?:^|/)(?:${anywhere.join("|")})$`] : []),
    ...(fixed.length > 0 ? [`^(?:${fixed.join("|")})$`] : []),
  ];
  return new RegExp(alternatives.join("|"), "i");
}

function expression(glob: string): string {
  // The anchors that picomatch sets, for some globs twice, are set once around all of them.
  let { source } = picomatch.makeRe(glob, { dot: true, nocase: true });
  for (let inner = ANCHORED.exec(source); inner !== null; inner = ANCHORED.exec(source))
    source = inner[1] ?? "";
  return `(?:${source})`;
}

const PlaceTable = z.strictObject({
  credentials: z.array(z.string()),
  notCredentials: z.array(z.string()),
  persistence: z.array(z.string()),
  temporary: z.array(z.string()),
  homes: z.array(z.string()),
  readable: z.array(z.string()),
  devices: z.array(z.string()),
});

const table = tableFile("places.json", PlaceTable);
const isListed = patternList(table.credentials);
const isExcepted = patternList(table.notCredentials);

/** Whether a file of this name is known to hold keys, tokens or passwords. */
export const isCredentials = (path: string): boolean => isListed(path) && !isExcepted(path);
/** Whether programs run what lies there by themselves, later. */
export const isPersistence = patternList(table.persistence);
/** Whether it lies in a user's home, by the name of the folder. */
export const isUserHome = patternList(table.homes);
/** Whether it is a part of the system that all users may read and that holds no secrets. */
export const isReadableByAll = patternList(table.readable);
/** Devices that only swallow or supply: reading or writing them is no effect. */
export const DEVICES: ReadonlySet<string> = new Set(table.devices);
/** Where machines keep folders for passing files. */
export const TEMPORARY: readonly string[] = table.temporary;

/** A process by its folder, and perhaps one of its threads by the folder of that. */
const PROCESS = /(?:^|\/)proc\/(?:self|thread-self|\d+)(?:\/task\/\d+)?(?:\/|$)/g;

/** What the kernel tells of a process that gives away nothing it holds. */
const TOLD: ReadonlySet<string> = new Set(
  "status stat statm comm limits cgroup mounts mountinfo mountstats io sched schedstat oom_score oom_adj oom_score_adj loginuid sessionid wchan cpuset uid_map gid_map setgroups projid_map timerslack_ns net ns attr task".split(
    " ",
  ),
);

/**
 * Whether a path leads to what a process holds: its variables, its memory, its open files, or the machine as it sees
 * it. Goes by where in `/proc` it lies, so that a new name there counts, too.
 * @param path tidy; followed to its end, or as it was given
 */
export function isProcessContent(path: string): boolean {
  if (/^\/dev\/fd\/(?![012]$)./.test(path)) return true;
  if (!path.includes("proc/")) return false;
  for (const found of path.matchAll(PROCESS)) {
    const rest = path.slice(found.index + found[0].length);
    const [name = ""] = rest.split("/");
    if (name !== "" && !TOLD.has(name)) return true;
  }
  return false;
}

/** Whether what lies below a folder is, or holds, the folders of processes. */
export function holdsProcesses(path: string): boolean {
  return path === "/" || /(?:^|\/)proc(?:\/(?:self|thread-self|\d+)(?:\/task(?:\/\d+)?)?)?$/.test(path);
}
