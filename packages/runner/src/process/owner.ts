import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { realpathSync } from "node:fs";
import type { Writable } from "node:stream";
import { ProcessError } from "../errors.ts";
import {
  MARK_VARIABLE,
  type Mark,
  type MarkPrefix,
  markOf,
  ownerPrefix,
  type ProcessTable,
  systemTable,
} from "./process-table.ts";
import { withoutInheritance } from "./spawn.ts";
import { type StrayReport, sweepStrays } from "./sweep.ts";

/** This process as the owner of the processes it starts for one home. */
export class Owner {
  readonly lifeline: Lifeline;
  readonly table: ProcessTable;
  readonly #home: string;
  readonly #prefix: MarkPrefix;
  #count = 0;

  constructor(home: string, table: ProcessTable = systemTable) {
    this.#home = realpathSync(home);
    this.#prefix = ownerPrefix(this.#home, process.pid);
    this.lifeline = new Lifeline(this.#prefix);
    this.table = table;
  }

  /** Returns a new, unique mark. */
  newMark(): Mark {
    this.#count += 1;
    return markOf(this.#prefix, randomBytes(16).toString("hex"), this.#count);
  }

  /** Kills what earlier runs of the home left behind. Call it before agents are started. */
  sweepStrays(): Promise<StrayReport> {
    return sweepStrays(this.#home, this.table);
  }
}

/** How often it is restarted if something else ends it. */
const LIVES = 5;

/**
 * A small process that outlives this one by a moment: when this one dies, however suddenly, it kills the process groups
 * that were held and every process that carries a mark of this one. It runs only while a group is held.
 */
export class Lifeline {
  readonly #prefix: MarkPrefix;
  readonly #held = new Set<number>();
  #users = 0;
  #lives = LIVES;
  /** Its stdin, while it runs. */
  #input: Writable | undefined;

  constructor(prefix: MarkPrefix) {
    this.#prefix = prefix;
  }

  /** Keeps it running until the returned function is called. */
  extend(): () => void {
    if (this.#input === undefined) this.#start();
    this.#users += 1;
    return () => {
      this.#users -= 1;
      if (this.#users === 0) this.#release();
    };
  }

  /** Kills a group when this process dies; returns a function that cancels that. */
  hold(group: number): () => void {
    this.#held.add(group);
    this.#send(`+ ${group}`);
    return () => {
      if (this.#held.delete(group)) this.#send(`- ${group}`);
    };
  }

  #start(): void {
    if (this.#lives === 0)
      throw new ProcessError(
        "lifeline_lost",
        `The process that ends agents when Reins dies was itself ended ${LIVES} times. Find out by what, then restart Reins.`,
      );
    const { text, brand } = this.#prefix;
    const args = ["-c", LIFELINE_SCRIPT, "reins-lifeline", `${MARK_VARIABLE}=${text}`, brand];
    // A session of its own, so that what ends ours, from a terminal for instance, does not end it too.
    const child = withoutInheritance(["pipe", "ignore", "ignore"], (stdio) =>
      spawn("/bin/sh", args, { stdio, detached: true, cwd: "/", env: { PATH: "/usr/bin:/bin" } }),
    );
    const { stdin: input } = child;
    if (input === null) throw new ProcessError("lifeline_lost", "The lifeline was started without an input.");
    child.unref();
    if ("unref" in input && typeof input.unref === "function") input.unref();
    const lost = () => this.#lost(input);
    input.on("error", lost);
    child.on("error", lost).on("exit", lost);
    this.#input = input;
    for (const group of this.#held) this.#send(`+ ${group}`);
  }

  #lost(input: Writable): void {
    if (this.#input !== input) return;
    this.#input = undefined;
    this.#lives -= 1;
    if (this.#users > 0 && this.#lives > 0) this.#start();
  }

  #release(): void {
    const input = this.#input;
    this.#input = undefined;
    input?.end(".\n");
  }

  #send(line: string): void {
    this.#input?.write(`${line}\n`);
  }
}

/**
 * The program of a lifeline: a shell script, because it has to be small and run everywhere. It reads `+ group` and
 * `- group`; `.` ends it. At the end of its input the writer has died: it kills the groups that are left, then
 * looks through `/proc` for marks that begin as $1 (text) or $2 (brand) say, until none is found twice in a row.
 */
const LIFELINE_SCRIPT = `
trap '' HUP INT TERM QUIT
groups=' '
while read -r sign group; do
  case $sign in
    +) groups="$groups$group " ;;
    -) case $groups in *" $group "*) groups="\${groups%% $group *} \${groups#* $group }" ;; esac ;;
    .) exit 0 ;;
  esac
done
for group in $groups; do kill -KILL "-$group"; done
[ -r /proc/self/limits ] || exit 0

end() {
  read -r stat < "/proc/$1/stat" || return
  stat=\${stat##*) }
  case $stat in [ZX]*) return ;; esac
  kill -KILL "$1" && found=1
}

round=0 clean=0
while [ $clean -lt 2 ] && [ $round -lt 100 ]; do
  round=$((round + 1)) found=0
  for folder in /proc/[0-9]*; do
    while read -r first second third value rest; do
      [ "$first $second $third" = 'Max file locks' ] || continue
      case $value in "$2"??????) end "\${folder#/proc/}" ;; esac
      break
    done < "$folder/limits"
  done
  for file in $(grep -laF -e "$1" /proc/[0-9]*/environ); do
    file=\${file#/proc/}
    end "\${file%/environ}"
  done
  if [ $found = 0 ]; then clean=$((clean + 1)); else clean=0; fi
done
`;
