import { appendFileSync, mkdirSync } from "node:fs";
import { readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { errorCode, KeyedQueue } from "@reins/kit";
import { HistoryEntry } from "./entry.ts";
import {
  pageOf,
  SessionHeader,
  type SessionPage,
  type SessionQuery,
  type SessionStore,
  type StoredSession,
} from "./session-store.ts";

const ID = /^[A-Za-z0-9_-]{1,128}$/;
/** The most headers that are cached to skip unchanged writes. */
const MAX_CACHED = 1_000;

/**
 * Stores sessions in a folder: a header file that is replaced atomically, and an append-only file with one entry per
 * line. A line that a crash cut off is skipped. Entries are appended synchronously: to write them into the page cache
 * takes a fortieth of the time that it takes to hand them to another thread.
 */
export class FileSessionStore implements SessionStore {
  readonly #folder: string;
  /** Writes of headers, keyed by session. */
  readonly #writes = new KeyedQueue();
  /** The last written header of a session, without its time. */
  readonly #written = new Map<string, string>();

  constructor(folder: string) {
    this.#folder = folder;
  }

  async read(id: string): Promise<StoredSession | undefined> {
    if (!ID.test(id)) return undefined;
    const header = await this.#header(id);
    if (!header) return undefined;
    const lines = (await readText(this.#entriesOf(id))).split("\n");
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

  async append(header: SessionHeader, entries: readonly HistoryEntry[]): Promise<void> {
    const { id } = header;
    expectId(id);
    if (!this.#written.has(id)) mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    // After a crash the file may end within a line; the next entry must start a new one.
    const lines = entries.map((entry) => `\n${JSON.stringify(entry)}`).join("");
    if (lines !== "") appendFileSync(this.#entriesOf(id), lines, { mode: 0o600 });
    if (this.#needsHeader(header, entries)) await this.#writes.run(id, () => this.#replace(header));
  }

  async remove(id: string): Promise<void> {
    expectId(id);
    await this.#writes.run(id, async () => {
      this.#written.delete(id);
      await rm(this.#headerOf(id), { force: true });
      await rm(this.#entriesOf(id), { force: true });
    });
  }

  /** Whether a header has to be written: the time alone is written at the end of a turn only. */
  #needsHeader(header: SessionHeader, entries: readonly HistoryEntry[]): boolean {
    return entries.some(({ kind }) => kind === "end") || this.#written.get(header.id) !== withoutTime(header);
  }

  async #replace(header: SessionHeader): Promise<void> {
    const path = this.#headerOf(header.id);
    await writeFile(`${path}.new`, JSON.stringify(header), { mode: 0o600 });
    await rename(`${path}.new`, path);
    this.#written.delete(header.id);
    this.#written.set(header.id, withoutTime(header));
    const [oldest] = this.#written.keys();
    if (this.#written.size > MAX_CACHED && oldest !== undefined) this.#written.delete(oldest);
  }

  async #header(id: string): Promise<SessionHeader | undefined> {
    const { data } = SessionHeader.safeParse(parsed(await readText(this.#headerOf(id))));
    return data;
  }

  #headerOf(id: string): string {
    return join(this.#folder, `${id}.json`);
  }

  #entriesOf(id: string): string {
    return join(this.#folder, `${id}.jsonl`);
  }
}

function expectId(id: string): void {
  if (!ID.test(id)) throw new TypeError(`"${id}" is not a valid session id`);
}

function withoutTime({ updatedAt: _, ...header }: SessionHeader): string {
  return JSON.stringify(header);
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

function readText(path: string): Promise<string> {
  return readFile(path, "utf8").catch(orMissing(""));
}

function orMissing<Value>(value: Value): (error: unknown) => Value {
  return (error) => {
    if (errorCode(error) === "ENOENT") return value;
    throw error;
  };
}
