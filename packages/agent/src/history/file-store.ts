import {
  appendFileSync,
  closeSync,
  mkdirSync,
  openSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { open, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { errorCode } from "@reins/kit";
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
/** From this length on, a file of headers is replaced by one with the last header alone. */
const MAX_HEADERS = 64 * 1_024;
/** The most files that stay open between appends. */
const MAX_OPEN = 512;
/** Only their owner may read what is stored. */
const PRIVATE = { mode: 0o600 };

/**
 * Stores sessions in a folder, each in two append-only files with a line for each entry and for each state of its header,
 * of which the last counts. A line that a crash cut off is skipped. Lines are appended synchronously: to write them into
 * the page cache takes a fortieth of the time that it takes to hand them to another thread, or to replace a file. The
 * files of a session that is in use stay open, because to open a file takes several times as long as to append to it. The
 * file of entries is created with the session, by another thread: where the disk is busy, to create a file takes as long
 * as a quarter of a first turn.
 */
export class FileSessionStore implements SessionStore {
  readonly #folder: string;
  /** The last written header of a session, without its time, and the length of the file it is in. */
  readonly #written = new Map<string, { readonly header: string; readonly length: number }>();

  /** The sessions whose file of entries is being created. */
  readonly #creating = new Map<string, Promise<void>>();

  /** The open files by path, those that were appended to last at the end. */
  readonly #open = new Map<string, number>();

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
    const isFirst = !this.#written.has(id);
    if (isFirst) mkdirSync(this.#folder, { recursive: true, mode: 0o700 });
    const lines = entries.map(lineOf).join("");
    if (lines !== "") appendFileSync(this.#opened(this.#entriesOf(id)), lines);
    if (this.#needsHeader(header, entries)) this.#writeHeader(header);
    if (isFirst && lines === "") this.#createEntries(id);
  }

  async remove(id: string): Promise<void> {
    expectId(id);
    await this.#creating.get(id);
    this.#written.delete(id);
    this.release(id);
    rmSync(this.#headerOf(id), { force: true });
    rmSync(this.#entriesOf(id), { force: true });
  }

  release(id: string): void {
    this.#close(this.#headerOf(id));
    this.#close(this.#entriesOf(id));
  }

  /** Creates the file of entries before the first one is appended. A failure is that of the append, which opens it again. */
  #createEntries(id: string): void {
    const creating = open(this.#entriesOf(id), "a", PRIVATE.mode)
      .then((file) => file.close())
      .catch(() => undefined)
      .finally(() => this.#creating.delete(id));
    this.#creating.set(id, creating);
  }

  /** A file that is open for appending. */
  #opened(path: string): number {
    const file = this.#open.get(path) ?? openSync(path, "a", PRIVATE.mode);
    this.#open.delete(path);
    this.#open.set(path, file);
    const [oldest] = this.#open.keys();
    if (this.#open.size > MAX_OPEN && oldest !== undefined) this.#close(oldest);
    return file;
  }

  #close(path: string): void {
    const file = this.#open.get(path);
    if (file === undefined) return;
    this.#open.delete(path);
    closeSync(file);
  }

  /** Whether a header has to be written: the time alone is written at the end of a turn only. */
  #needsHeader(header: SessionHeader, entries: readonly HistoryEntry[]): boolean {
    return (
      entries.some(({ kind }) => kind === "end") ||
      this.#written.get(header.id)?.header !== withoutTime(header)
    );
  }

  #writeHeader(header: SessionHeader): void {
    const { id } = header;
    const path = this.#headerOf(id);
    const line = lineOf(header);
    let length = this.#written.get(id)?.length ?? statSync(path, { throwIfNoEntry: false })?.size ?? 0;
    if (length < MAX_HEADERS) appendFileSync(this.#opened(path), line);
    else {
      length = 0;
      this.#close(path);
      writeFileSync(`${path}.new`, line, PRIVATE);
      renameSync(`${path}.new`, path);
    }
    this.#written.delete(id);
    this.#written.set(id, { header: withoutTime(header), length: length + line.length });
    const [oldest] = this.#written.keys();
    if (this.#written.size > MAX_CACHED && oldest !== undefined) this.#written.delete(oldest);
  }

  async #header(id: string): Promise<SessionHeader | undefined> {
    const lines = (await readText(this.#headerOf(id))).split("\n");
    for (const line of lines.toReversed()) {
      const { data } = SessionHeader.safeParse(parsed(line));
      if (data) return data;
    }
    return undefined;
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

/** A value on a line of its own, also after a crash that cut off the line before. */
function lineOf(value: HistoryEntry | SessionHeader): string {
  return `\n${JSON.stringify(value)}`;
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
