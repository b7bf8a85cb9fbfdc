import { spawn } from "node:child_process";
import type { Writable } from "node:stream";
import { withoutInheritance } from "./inheritance.ts";
import { LIFELINE_SCRIPT } from "./lifeline-script.ts";
import { MARK_VARIABLE, type MarkPrefix } from "./mark.ts";
import { ProcessError } from "./process-error.ts";

/** How often it is started anew when something else ends it. */
const LIVES = 5;

/**
 * A small process that outlives ours by a moment: when ours dies, however suddenly, it ends the process groups that
 * were held, and every process that carries a mark of ours. It is there only while a group is held.
 */
export class Lifeline {
  readonly #prefix: MarkPrefix;
  readonly #held = new Set<number>();
  #users = 0;
  #lives = LIVES;
  /** Where it reads; there is one as long as it lives. */
  #input: Writable | undefined;

  constructor(prefix: MarkPrefix) {
    this.#prefix = prefix;
  }

  /** Is there from now on, until the returned function is called. */
  extend(): () => void {
    if (this.#input === undefined) this.#start();
    this.#users += 1;
    return () => {
      this.#users -= 1;
      if (this.#users === 0) this.#letGo();
    };
  }

  /** Ends a group when we die; the returned function calls it off. */
  hold(group: number): () => void {
    this.#held.add(group);
    this.#tell(`+ ${group}`);
    return () => {
      if (this.#held.delete(group)) this.#tell(`- ${group}`);
    };
  }

  #start(): void {
    if (this.#lives === 0)
      throw new ProcessError(
        "lifeline_lost",
        `The process that ends agents when Reins dies was itself ended ${LIVES} times. Find out by whom, then restart Reins.`,
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
    for (const group of this.#held) this.#tell(`+ ${group}`);
  }

  #lost(input: Writable): void {
    if (this.#input !== input) return;
    this.#input = undefined;
    this.#lives -= 1;
    if (this.#users > 0 && this.#lives > 0) this.#start();
  }

  #letGo(): void {
    const input = this.#input;
    this.#input = undefined;
    input?.end(".\n");
  }

  #tell(line: string): void {
    this.#input?.write(`${line}\n`);
  }
}
