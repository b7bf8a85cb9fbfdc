import { resolve } from "node:path";
import type { ActionPayload } from "../control/control-point.ts";

/** What an agent said it would do to a file when a verdict let its call through. */
export interface FilePermit {
  readonly access: "read" | "write";
  readonly path: string;
  /** The content that was shown when it was decided; another needs a verdict of its own. */
  readonly content?: string | undefined;
  /** The tool call it was given to, as it was decided. */
  readonly call: ActionPayload;
  readonly entry: string | undefined;
}

const MAX_PERMITS = 1_000;

/**
 * Verdicts about files that the agent will ask the harness to carry out. An agent that first asks permission and then
 * writes through the harness is decided about once. Which files a call is about is what the agent says: whether the
 * verdict was about them too is for whoever takes a permit to find out.
 */
export class FilePermits {
  #permits: FilePermit[] = [];

  /** Remembers a verdict. */
  add(permit: FilePermit): void {
    this.#permits.push({ ...permit, path: resolve(permit.path) });
    if (this.#permits.length > MAX_PERMITS) this.#permits.shift();
  }

  /** Uses a verdict that lets exactly this be done; once for a write. */
  take(access: FilePermit["access"], path: string, content?: string): FilePermit | undefined {
    const wanted = resolve(path);
    const index = this.#permits.findIndex(
      (permit) =>
        permit.access === access &&
        permit.path === wanted &&
        (permit.content === undefined || permit.content === content),
    );
    if (index < 0) return undefined;
    const permit = this.#permits[index];
    if (access === "write") this.#permits.splice(index, 1);
    return permit;
  }

  /** Forgets them all, at the end of a turn. */
  clear(): void {
    this.#permits = [];
  }
}
