import { closeSync, constants, fdatasyncSync, openSync, readFileSync, rmSync, writeSync } from "node:fs";
import { crc32 } from "node:zlib";

const { O_CREAT, O_NOFOLLOW, O_RDWR } = constants;

/** Each slot is in a sector of its own, so that a write that is cut off spoils one of them at most. */
const SLOT_BYTES = 512;
const SLOTS = 2;

/** What a mark may hold: plain data of less than 480 characters. */
export type MarkContent = Readonly<Record<string, unknown>>;

/**
 * A few numbers in a small file, overwritten in place with every step of whoever keeps them: what was written survives
 * the death of the process at once and a power cut after {@link sync}. Two slots take turns, each with a checksum.
 */
export class MarkFile {
  readonly #path: string;
  readonly #file: number;
  #turn: number;

  /** Opens the file, or makes it with room for both slots, so that a full disk does not keep it from being written. */
  constructor(path: string) {
    this.#path = path;
    this.#turn = newestIn(path)?.turn ?? 0;
    this.#file = openSync(path, O_RDWR | O_CREAT | O_NOFOLLOW, 0o600);
    if (this.#turn === 0) writeSync(this.#file, Buffer.alloc(SLOT_BYTES * SLOTS, " "), 0, undefined, 0);
  }

  /** What a file holds; `undefined` where there is none, `damaged` where neither slot can be read. */
  static read(path: string): MarkContent | "damaged" | undefined {
    const text = textOf(path);
    if (text === undefined || text.trim() === "") return undefined;
    return newestIn(path)?.content ?? "damaged";
  }

  /** Replaces what the file holds. */
  write(content: MarkContent): void {
    this.#turn += 1;
    const text = JSON.stringify([this.#turn, content]);
    const slot = `${sumOf(text)} ${text}`.padEnd(SLOT_BYTES - 1);
    if (slot.length >= SLOT_BYTES) throw new RangeError("a mark holds less than 480 characters");
    writeSync(this.#file, `${slot}\n`, (this.#turn % SLOTS) * SLOT_BYTES);
  }

  /** Settles on the disk what was written. */
  sync(): void {
    fdatasyncSync(this.#file);
  }

  close(): void {
    closeSync(this.#file);
  }

  /** Closes and removes the file. */
  remove(): void {
    this.close();
    rmSync(this.#path, { force: true });
  }
}

function newestIn(path: string): { readonly turn: number; readonly content: MarkContent } | undefined {
  const slots = (textOf(path) ?? "").match(/[^\n]+/g) ?? [];
  return slots
    .flatMap((slot) => slotIn(slot) ?? [])
    .toSorted((one, other) => other.turn - one.turn)
    .at(0);
}

function slotIn(slot: string): { readonly turn: number; readonly content: MarkContent } | undefined {
  const [sum, text] = [slot.slice(0, 8), slot.slice(9).trimEnd()];
  if (sumOf(text) !== sum) return undefined;
  try {
    const [turn, content] = JSON.parse(text);
    return typeof turn === "number" ? { turn, content } : undefined;
  } catch {
    return undefined;
  }
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "latin1");
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
    throw error;
  }
}

function sumOf(text: string): string {
  return crc32(text).toString(16).padStart(8, "0");
}
