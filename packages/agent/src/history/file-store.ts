import { appendFile, mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { HistoryEntry } from "./entry.ts";
import {
  type KeptSession,
  pageOf,
  SessionHeader,
  type SessionPage,
  type SessionQuery,
  type SessionStore,
} from "./session-store.ts";

const ID = /^[A-Za-z0-9_-]{1,128}$/;

/**
 * Sessions in a folder: for each a file of what is known of it, replaced as a whole, and a file of entries, one a line,
 * to which lines are only added. A line that was cut off by a crash is passed over.
 */
export class FileSessionStore implements SessionStore {
  readonly #folder: string;
  /** One write of a session after the other. */
  readonly #writing = new Map<string, Promise<void>>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  async read(id: string): Promise<KeptSession | undefined> {
    if (!ID.test(id)) return undefined;
    const header = await this.#header(id);
    if (!header) return undefined;
    const lines = (await textIn(this.#entriesOf(id))).split("\n");
    return { header, entries: lines.flatMap(entryIn) };
  }

  async list(query: SessionQuery): Promise<SessionPage> {
    const names = await readdir(this.#folder).catch(orMissing<string[]>([]));
    const ids = names.flatMap((name) => (name.endsWith(".json") ? [name.slice(0, -".json".length)] : []));
    const headers = await Promise.all(ids.map((id) => this.#header(id)));
    return pageOf(
      headers.filter((header) => header !== undefined),
      query,
    );
  }

  append(header: SessionHeader, entries: readonly HistoryEntry[]): Promise<void> {
    return this.#inOrder(header.id, async () => {
      await mkdir(this.#folder, { recursive: true, mode: 0o700 });
      // After a crash the file may end within a line; whatever stands there must not swallow the next one.
      const lines = entries.map((entry) => `\n${JSON.stringify(entry)}`).join("");
      if (lines !== "") await appendFile(this.#entriesOf(header.id), lines, { mode: 0o600 });
      const path = this.#headerOf(header.id);
      await writeFile(`${path}.new`, JSON.stringify(header), { mode: 0o600 });
      await rename(`${path}.new`, path);
    });
  }

  remove(id: string): Promise<void> {
    return this.#inOrder(id, async () => {
      await rm(this.#headerOf(id), { force: true });
      await rm(this.#entriesOf(id), { force: true });
    });
  }

  async #header(id: string): Promise<SessionHeader | undefined> {
    const { data } = SessionHeader.safeParse(parsed(await textIn(this.#headerOf(id))));
    return data;
  }

  #inOrder(id: string, write: () => Promise<void>): Promise<void> {
    if (!ID.test(id)) return Promise.reject(new TypeError(`"${id}" cannot be the id of a session`));
    const done = (this.#writing.get(id) ?? Promise.resolve()).then(write);
    const settled = done
      .catch(() => undefined)
      .finally(() => {
        if (this.#writing.get(id) === settled) this.#writing.delete(id);
      });
    this.#writing.set(id, settled);
    return done;
  }

  #headerOf(id: string): string {
    return join(this.#folder, `${id}.json`);
  }

  #entriesOf(id: string): string {
    return join(this.#folder, `${id}.jsonl`);
  }
}

function entryIn(line: string): HistoryEntry[] {
  const { data } = HistoryEntry.safeParse(parsed(line));
  return data ? [data] : [];
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function textIn(path: string): Promise<string> {
  return readFile(path, "utf8").catch(orMissing(""));
}

function orMissing<Value>(value: Value): (error: unknown) => Value {
  return (error) => {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return value;
    throw error;
  };
}
