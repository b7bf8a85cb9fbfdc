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
