import type { FileHandle } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { BoardExcerpt } from "@reins/host";
import { type Clock, systemClock, visibleText } from "@reins/kit";
import { policyFiles } from "@reins/supervisor";
import { readRange, SharedFile, SharedFileError } from "./shared-file.ts";

const MAX_FILE_BYTES = 16 << 20;
const MAX_POST_BYTES = 2 << 10;
const MAX_AUTHOR_BYTES = 256;
const TOO_LARGE = `a post has at most ${MAX_POST_BYTES} bytes, its author ${MAX_AUTHOR_BYTES}; put the rest into a file`;
/** How much of the end of the file is read. */
const TAIL_BYTES = 64 << 10;
const LINE_LENGTH = 4_000;
const DEFAULT_LINES = 20;
const MAX_LINES = 500;

/** HAAK's `board.md`: notes of people and agents for all of them. Other programs append to it as well. */
export class Board {
  readonly path: string;
  readonly #file: SharedFile<readonly string[]>;
  readonly #clock: Pick<Clock, "now">;

  constructor({
    home,
    tenant,
    clock = systemClock,
  }: {
    readonly home: string;
    /** The tenant whose agents use it. */
    readonly tenant: string;
    readonly clock?: Pick<Clock, "now">;
  }) {
    this.path = join(dirname(policyFiles(home, tenant).rules), "board.md");
    // A person's editor need not end the last line.
    const isWhole = () => true;
    this.#file = new SharedFile({
      ...{ path: this.path, maxBytes: MAX_FILE_BYTES, isWhole },
      ...{ empty: [], parse: lastLines },
    });
    this.#clock = clock;
  }

  /** The last lines that are not empty, oldest first, each of bounded length. */
  async read(lines = DEFAULT_LINES): Promise<string[]> {
    const last = await this.#file.read();
    const count = Math.min(Math.max(0, Math.trunc(lines)), MAX_LINES);
    return last.slice(Math.max(0, last.length - count)).map(shorten);
  }

  /** The last lines for a preamble. A file that cannot be read does not end the turn. */
  async excerpt(): Promise<BoardExcerpt> {
    try {
      return { lines: await this.read(), faults: [] };
    } catch (error) {
      if (!(error instanceof SharedFileError)) throw error;
      return { lines: [], faults: [error.message] };
    }
  }

  /** Appends a post as one line with author and time. Escapes both, so that no post passes for another author's. */
  async post(author: string, content: string): Promise<void> {
    const text = content.trim();
    if (author === "" || text === "")
      throw new SharedFileError("invalid", "a post needs an author and a text");
    if (Buffer.byteLength(author) > MAX_AUTHOR_BYTES || Buffer.byteLength(text) > MAX_POST_BYTES)
      throw new SharedFileError("too_large", TOO_LARGE);
    const name = visibleText(author).replaceAll("[", "\\u005b").replaceAll("]", "\\u005d");
    await this.#file.append(`[${name}] ${visibleText(text)} (${this.#clock.now().toISOString()})`);
  }
}

function shorten(line: string): string {
  return line.length <= LINE_LENGTH ? line : `${line.slice(0, LINE_LENGTH)}…`;
}

/** The lines at the end of the file that are not empty. */
async function lastLines(file: FileHandle, size: number): Promise<readonly string[]> {
  const start = Math.max(0, size - TAIL_BYTES);
  const text = (await readRange(file, start, size)).toString();
  // The first line of the tail is most likely cut.
  const whole = start > 0 ? text.slice(text.indexOf("\n") + 1) : text;
  return whole
    .split(/\r?\n/)
    .filter((line) => line.trim() !== "")
    .slice(-MAX_LINES);
}
