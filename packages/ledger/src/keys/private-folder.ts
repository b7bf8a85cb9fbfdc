import { join, resolve } from "node:path";
import { KeyedQueue } from "@reins/kit";
import { z } from "zod";
import { blake3Hex } from "../canonical.ts";
import { type Ports, sweepLeftovers, writeWhole } from "../disk.ts";
import { LedgerError } from "../ledger-error.ts";

/** One update of a folder at a time, for all that open it. */
const folders = new KeyedQueue();

const LARGEST_FILE = 16 * 1024 * 1024;
const WRITABLE_BY_OTHERS = 0o022;
const REACHABLE_BY_OTHERS = 0o077;

/** A kind of secret file. */
export interface SecretKind<Content> {
  /** Begins the names of the files, so that several kinds can share a folder. */
  readonly prefix: string;
  readonly schema: z.ZodType<Content>;
  /** Whose file it is. Names are arbitrary, so a file is called by the hash of its name and has to hold the name. */
  nameOf(content: Content): string;
}

/** What becomes of a file: its new content, or none to leave it as it is, and the result for the caller. */
export interface Update<Content, Result> {
  readonly content?: Content;
  readonly result: Result;
}

/**
 * A folder of secrets, one JSON file for each name, for its owner alone. One process at a time may write to it: the
 * one that holds the store.
 */
export class PrivateFolder<Content extends object> {
  readonly #path: string;
  readonly #kind: SecretKind<Content>;
  readonly #ports: Ports;

  constructor(path: string, kind: SecretKind<Content>, ports: Ports) {
    this.#path = resolve(path);
    this.#kind = kind;
    this.#ports = ports;
  }

  /** What the file of a name holds. */
  async read(name: string): Promise<Content | undefined> {
    await this.#checkFolder();
    return this.#readFile(this.#fileOf(name));
  }

  /** What every file of this kind holds. */
  async readAll(): Promise<readonly Content[]> {
    await this.#checkFolder();
    const all: Content[] = [];
    for (const file of await this.#ports.disk.names(this.#path)) {
      if (!file.startsWith(`${this.#kind.prefix}-`) || !file.endsWith(".json")) continue;
      const content = await this.#readFile(file);
      if (content !== undefined) all.push(content);
    }
    return all;
  }

  /** Replaces the file of a name atomically by what `next` makes of it; no other job changes it meanwhile. */
  update<Result>(
    name: string,
    next: (content: Content | undefined) => Update<Content, Result>,
  ): Promise<Result> {
    return folders.run(this.#path, async () => {
      const { content, result } = next(await this.read(name));
      if (content !== undefined) await this.#write(this.#fileOf(name), content);
      return result;
    });
  }

  async #write(file: string, content: Content): Promise<void> {
    await this.#ports.disk.makeFolder(this.#path);
    await sweepLeftovers(this.#ports, this.#path);
    const text = `${JSON.stringify(content, undefined, 2)}\n`;
    await writeWhole(this.#ports, this.#path, join(this.#path, file), Buffer.from(text));
  }

  async #checkFolder(): Promise<void> {
    const found = await this.#ports.disk.folder(this.#path);
    if (!found) return;
    if (!found.ours) throw notOurs(this.#path);
    if (((found.mode ?? 0) & WRITABLE_BY_OTHERS) === 0) return;
    throw new LedgerError(
      "unreadable",
      `Other users may replace the keys in ${this.#path}. Check that none was replaced, then run: chmod 700 '${this.#path}'`,
    );
  }

  async #readFile(file: string): Promise<Content | undefined> {
    const path = join(this.#path, file);
    const found = await this.#ports.disk.read(path, LARGEST_FILE).catch((error: NodeJS.ErrnoException) => {
      throw error.code === "EACCES" ? notOurs(path) : error;
    });
    if (!found) return undefined;
    if (!found.ours) throw notOurs(path);
    if (((found.mode ?? 0) & REACHABLE_BY_OTHERS) !== 0) {
      throw new LedgerError(
        "unreadable",
        `Users other than its owner may reach the key file ${path}. Run: chmod 600 '${path}', and rotate the key if another user may have read it.`,
      );
    }
    const content = this.#parse(Buffer.from(found.bytes).toString(), path);
    if (this.#fileOf(this.#kind.nameOf(content)) === file) return content;
    throw damaged(path, `It holds what belongs to ${JSON.stringify(this.#kind.nameOf(content))}.`);
  }

  #parse(text: string, path: string): Content {
    try {
      return this.#kind.schema.parse(JSON.parse(text));
    } catch (error) {
      // What a parser says may quote the secret, so only the names of members are passed on.
      const reason = error instanceof z.ZodError ? z.prettifyError(error) : "It is not JSON.";
      throw damaged(path, reason);
    }
  }

  #fileOf(name: string): string {
    if (name === "" || !name.isWellFormed())
      throw new LedgerError("invalid", "the holder of a key has a name that is not empty");
    return `${this.#kind.prefix}-${blake3Hex(name)}.json`;
  }
}

function notOurs(path: string): LedgerError {
  return new LedgerError(
    "unreadable",
    `${path} belongs to another user. Run as that user, or take it over with chown if you trust what it holds.`,
  );
}

function damaged(path: string, reason: string): LedgerError {
  return new LedgerError(
    "corrupt",
    `The key file ${path} is damaged; bring it back from a backup. ${reason}`,
  );
}
