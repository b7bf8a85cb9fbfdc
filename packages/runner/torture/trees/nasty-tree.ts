import type { Random } from "../../../../scripts/torture/random.ts";

/** A program for the shell that makes a tree of processes which do not want to end. */
export interface NastyTree {
  readonly script: string;
  /** How many files named `up.*` it leaves in its folder once it stands. */
  readonly ups: number;
  /** Whether the agent itself ends, and with it all of the tree, maybe before it stands. */
  readonly brief: boolean;
  /** For a person who looks for the cause of a failure. */
  readonly shape: string;
}

type Branch = Omit<NastyTree, "brief">;

/** No process lives longer than this many seconds, even if a test fails to end it. */
const LIFE = 60;
const UP = ": > up.$$";
/** What a process of the tree does in the end. None of it changes folder, by which it can be found. */
const LEAVES: Readonly<Record<string, string>> = {
  sleeps: `${UP}; sleep ${LIFE}`,
  deaf: `trap '' TERM HUP INT; ${UP}; sleep ${LIFE}; sleep 1`,
  "holds the pipe": `trap '' TERM HUP PIPE; ${UP}; while sleep 0.2; do echo still here; echo still here >&2; done`,
  "keeps forking": `trap '' TERM; ${UP}; i=0; while [ $i -lt 600 ]; do sleep 0.3 & i=$((i + 1)); sleep 0.05; done`,
  "forks when asked to end": `trap 'setsid sleep ${LIFE} & sleep ${LIFE} &' TERM; ${UP}; i=0; while [ $i -lt 600 ]; do sleep 0.1; i=$((i + 1)); done`,
  "runs away": `${UP}; run='n=$1; [ $n -gt 0 ] || exit; sleep 0.03; setsid sh -c "$run" run $((n - 1)) &'; export run; setsid sh -c "$run" run 600 &`,
};
/** How it gets away from its parent. */
const WAYS: Readonly<Record<string, (script: string) => string>> = {
  child: (script) => `sh -c ${quoted(script)} &`,
  "double fork": (script) => `(sh -c ${quoted(script)} &)`,
  "own session": (script) => `setsid sh -c ${quoted(script)} &`,
  daemon: (script) => `(setsid sh -c ${quoted(script)} > /dev/null 2>&1 < /dev/null &)`,
  "without environment": (script) =>
    `(env -i PATH="$PATH" setsid sh -c ${quoted(script)} > /dev/null 2>&1 < /dev/null &)`,
};
const BRIEF = "ends soon";
/** What the agent itself does meanwhile. */
const LEADERS: Readonly<Record<string, string>> = {
  "reads on": "cat > /dev/null",
  deaf: `trap '' TERM HUP INT; ${UP}; sleep ${LIFE}; sleep 1`,
  "ignores its input": `sleep ${LIFE}`,
  [BRIEF]: "sleep 0.3; exit 3",
};

/** A tree that the seed decides. */
export function nastyTree(random: Random): NastyTree {
  const [leader, last] = random.pick(Object.entries(LEADERS));
  const branches = Array.from({ length: 1 + random.int(4) }, () => branch(random, random.int(3)));
  return {
    script: [...branches.map(({ script }) => script), last].join("\n"),
    ups: branches.reduce((sum, { ups }) => sum + ups, last.includes(UP) ? 1 : 0),
    brief: leader === BRIEF,
    shape: `${leader}: ${branches.map(({ shape }) => shape).join("; ")}`,
  };
}

function branch(random: Random, depth: number): Branch {
  const [way, start] = random.pick(Object.entries(WAYS));
  const [kind, leaf] = random.pick(Object.entries(LEAVES));
  if (depth === 0) return { script: start(leaf), ups: 1, shape: `${way}, ${kind}` };
  const inner = branch(random, depth - 1);
  return {
    script: start(`${inner.script}\n${leaf}`),
    ups: inner.ups + 1,
    shape: `${way}, ${kind} (${inner.shape})`,
  };
}

function quoted(script: string): string {
  return `'${script.replaceAll("'", "'\\''")}'`;
}
