import { once } from "node:events";
import { systemCode } from "./errors.ts";

/** Writes a long result with back-pressure, and not after the reader closed. */
export class Output {
  readonly #stream: NodeJS.WritableStream;
  readonly #gone = new AbortController();

  constructor(stream: NodeJS.WritableStream) {
    this.#stream = stream;
    stream.on("error", (error) => {
      if (systemCode(error) !== "EPIPE") throw error;
      this.#gone.abort();
    });
  }

  /** Aborts when the reader closed early, such as `head`. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  async write(text: string): Promise<void> {
    if (this.gone.aborted || this.#stream.write(text)) return;
    await once(this.#stream, "drain", { signal: this.gone }).catch((error: unknown) => {
      if (!this.gone.aborted && systemCode(error) !== "EPIPE") throw error;
    });
  }
}

interface PageOptions<Item> {
  /** The name of the items in the JSON document, where one is wanted. */
  readonly json: string | undefined;
  /** The text of a page; `isFirst` is for a heading. */
  readonly text: (page: readonly Item[], isFirst: boolean) => string;
  /** The text where there are no items. */
  readonly none: string;
}

/** Prints pages of a list as they come, or all items as one JSON document. */
export async function printPages<Item>(
  pages: AsyncIterable<readonly Item[]>,
  { json, text, none }: PageOptions<Item>,
): Promise<void> {
  const output = new Output(process.stdout);
  const all: Item[] = [];
  let isFirst = true;
  for await (const page of pages) {
    if (json !== undefined) all.push(...page);
    else if (page.length > 0) await output.write(text(page, isFirst));
    if (page.length > 0) isFirst = false;
    if (output.gone.aborted) return;
  }
  if (json !== undefined) await output.write(`${JSON.stringify({ [json]: all })}\n`);
  else if (isFirst) await output.write(none);
}

export function print(text: string): void {
  process.stdout.write(text);
}

/** Reports something beside the result of a command. */
export type Notice = (message: string) => void;

/** A line for people, a JSON document for programs. */
export function noticeOnStderr(json: boolean | undefined): Notice {
  return (message) => {
    process.stderr.write(json ? `${JSON.stringify({ notice: { message } })}\n` : `reins: ${message}\n`);
  };
}
