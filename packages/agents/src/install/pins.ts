import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { ifExists, replaceFile } from "@reins/kit";

/**
 * What the content of an agent's versions was found to be when each was first installed. Outlives the installs, so that a
 * version whose content has changed since is refused.
 */
export class Pins {
  readonly #folder: string;

  /** @param folder the one that holds a folder for each agent */
  constructor(folder: string, agent: string) {
    this.#folder = join(folder, `${agent}.pins`);
  }

  /** What was found for a version; undefined when it was never installed. */
  find(version: string): Promise<string | undefined> {
    return ifExists(readFile(this.#file(version), "utf8"));
  }

  keep(version: string, content: string): Promise<void> {
    return replaceFile(this.#file(version), content);
  }

  #file(version: string): string {
    return join(this.#folder, createHash("sha256").update(version).digest("hex").slice(0, 32));
  }
}
