import { dirname, join } from "node:path";
import type { BoardExcerpt } from "@reins/host";
import { type Clock, systemClock, visibleText } from "@reins/kit";
import { policyFiles } from "@reins/supervisor";
import { read, SharedFile, SharedFileError, stampOf } from "./shared-file.ts";

/** What a board stands on. */
export interface BoardOptions {
  readonly home: string;
  /** Whose agents read and write it. */
  readonly tenant: string;
  readonly clock?: Pick<Clock, "now">;
}

const MAX_FILE_BYTES = 16 << 20;
const MAX_POST_BYTES = 2 << 10;
const MAX_AUTHOR_BYTES = 256;
const TOO_LARGE = `a post has at most ${MAX_POST_BYTES} bytes, its author ${MAX_AUTHOR_BYTES}; put the rest into a file`;
/** As much of the end of the board as is looked at. */
const EXCERPT_BYTES = 64 << 10;
const LINE_LENGTH = 4_000;
const DEFAULT_LINES = 20;
const MAX_LINES = 500;

/** `board.md`, on which people and agents leave word for everybody. Others may write to it at any time. */
export class Board {
  readonly #file: SharedFile;
  readonly #clock: Pick<Clock, "now">;
  /** The end of the file as it was last read. */
  #seen: { readonly stamp: string; readonly written: readonly string[] } | undefined;

  constructor({ home, tenant, clock = systemClock }: BoardOptions) {
    const path = join(dirname(policyFiles(home, tenant).rules), "board.md");
    // A person's editor need not end the last line.
    this.#file = new SharedFile({ path, maxBytes: MAX_FILE_BYTES, isWhole: () => true });
    this.#clock = clock;
  }

  /** The last lines that are not empty, oldest first, each of bounded length. */
  async read(lines = DEFAULT_LINES): Promise<string[]> {
    const stamp = this.#file.stamp();
    if (stamp === undefined) return [];
    const written = this.#seen?.stamp === stamp ? this.#seen.written : await this.#written();
    const wanted = Math.min(Math.max(0, Math.trunc(lines)), MAX_LINES);
    return written.slice(Math.max(0, written.length - wanted)).map(shortened);
  }

  /** The last lines, for a preamble. A file that cannot be read does not end the turn. */
  async excerpt(): Promise<BoardExcerpt> {
    try {
      return { lines: await this.read(), faults: [] };
    } catch (error) {
      if (!(error instanceof SharedFileError)) throw error;
      return { lines: [], faults: [error.message] };
    }
  }

  /** The last lines, as they are now. */
  async #written(): Promise<readonly string[]> {
    const file = await this.#file.openToRead();
    if (!file) return [];
    try {
      const stat = await file.stat({ bigint: true });
      const size = Number(stat.size);
      const start = Math.max(0, size - EXCERPT_BYTES);
      const text = (await read(file, start, size)).toString();
      // Where the excerpt begins, a line most likely does not.
      const whole = start > 0 ? text.slice(text.indexOf("\n") + 1) : text;
      const written = whole
        .split(/\r?\n/)
        .filter((line) => line.trim() !== "")
        .slice(-MAX_LINES);
      this.#seen = { stamp: stampOf(stat), written };
      return written;
    } finally {
      await file.close();
    }
  }

  /** Adds a post: one line with author and time, whatever it says, so that nobody can write in another's name. */
  async post(author: string, content: string): Promise<void> {
    const words = content.trim();
    if (author === "" || words === "")
      throw new SharedFileError("invalid", "a post needs an author and a text");
    if (Buffer.byteLength(author) > MAX_AUTHOR_BYTES || Buffer.byteLength(words) > MAX_POST_BYTES)
      throw new SharedFileError("too_large", TOO_LARGE);
    const name = visibleText(author).replaceAll("[", "\\u005b").replaceAll("]", "\\u005d");
    await this.#file.append(`[${name}] ${visibleText(words)} (${this.#clock.now().toISOString()})`);
  }
}

function shortened(line: string): string {
  return line.length <= LINE_LENGTH ? line : `${line.slice(0, LINE_LENGTH)}…`;
}
