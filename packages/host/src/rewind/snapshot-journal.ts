import { mkdir, open, readdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { createFile, ifExists, replaceFile } from "@reins/kit";
import { blake3Hex } from "@reins/ledger";
import { z } from "zod";
import { EntryState } from "./entry-state.ts";

/** Why what was at a path is not kept. */
const Lost = z.enum(["too_large", "session_full", "no_room", "unreadable"]);
export type Lost = z.infer<typeof Lost>;

const TurnLine = z.object({
  kind: z.literal("turn"),
  id: z.string(),
  /** When it began, RFC 3339. */
  at: z.string(),
  prompt: z.string().optional(),
  /** Of a rewind: the turn before which it went back. */
  before: z.string().optional(),
});
export type TurnLine = z.infer<typeof TurnLine>;

const ChangeLine = z.object({
  kind: z.literal("change"),
  turn: z.string(),
  path: z.string(),
  /** What was there before the first change of the turn. */
  was: EntryState,
  lost: Lost.optional(),
  /** What is to be there after it. */
  becomes: EntryState,
});
type ChangeLine = z.infer<typeof ChangeLine>;

const JournalLine = z.discriminatedUnion("kind", [
  TurnLine,
  ChangeLine,
  /** What is there after a further change in the same turn, or if it is other than what was meant. */
  z.object({ kind: z.literal("becomes"), path: z.string(), state: EntryState }),
  /** A rewind is complete. */
  z.object({ kind: z.literal("done"), turn: z.string() }),
  /** Turns up to this one are forgotten. */
  z.object({ kind: z.literal("forgotten"), turn: z.string() }),
]);
export type JournalLine = z.infer<typeof JournalLine>;

/** One change of an entry in one turn, with the states that Reins may have left it in. */
export interface KeptChange extends ChangeLine {
  /** The last states that were recorded, the newest last: if the process ended in a change, the one before counts. */
  readonly left: readonly EntryState[];
}

const JOURNAL = "journal.jsonl";
const OBJECTS = "objects";

/**
 * What the files of one session were before its turns changed them: a journal, of which each line is on the disk before
 * the change that it is about, and contents by their hash. A line that the end of the process cut off is of a change that
 * was not made.
 */
export class SnapshotJournal {
  readonly #folder: string;
  readonly #turns = new Map<string, TurnLine>();
  readonly #changes = new Map<string, KeptChange>();
  /** The last change of each path, by its key. */
  readonly #newest = new Map<string, string>();
  readonly #done = new Set<string>();
  readonly #sizes = new Map<string, number>();
  #forgotten: string | undefined;

  private constructor(folder: string) {
    this.#folder = folder;
  }

  /** Reads what is kept in a folder; nothing where it does not exist. */
  static async open(folder: string): Promise<SnapshotJournal> {
    const journal = new SnapshotJournal(folder);
    const text = (await ifExists(readFile(join(folder, JOURNAL), "utf8"))) ?? "";
    for (const line of text.split("\n")) {
      const { data } = JournalLine.safeParse(parsed(line));
      if (data) journal.#take(data);
    }
    return journal;
  }

  /** The turns with changes, and the rewinds, in their order. */
  get turns(): readonly TurnLine[] {
    return [...this.#turns.values()];
  }

  /** The changes, in the order of the first of each turn. */
  get changes(): readonly KeptChange[] {
    return [...this.#changes.values()];
  }

  /** The last turn that is forgotten, because there was no room for more. */
  get forgotten(): string | undefined {
    return this.#forgotten;
  }

  /** How many bytes of contents are kept. */
  get bytes(): number {
    let bytes = 0;
    for (const size of this.#sizes.values()) bytes += size;
    return bytes;
  }

  /** Whether a turn is a rewind that was cut off before its end. */
  isCut(turn: string): boolean {
    return this.#turns.get(turn)?.before !== undefined && !this.#done.has(turn);
  }

  hasTurn(id: string): boolean {
    return this.#turns.has(id);
  }

  /** The change of a path in a turn. */
  changeOf(turn: string, path: string): KeptChange | undefined {
    return this.#changes.get(keyOf(turn, path));
  }

  /** The last change of a path. */
  newestOf(path: string): KeptChange | undefined {
    return this.#changes.get(this.#newest.get(path) ?? "");
  }

  /** Whether a content is kept. */
  holds(hash: string): boolean {
    return this.#sizes.has(hash);
  }

  /** Keeps a content; returns its hash once it is on the disk. */
  async keep(content: Uint8Array): Promise<string> {
    const hash = blake3Hex(content);
    if (!this.#sizes.has(hash)) {
      const objects = join(this.#folder, OBJECTS);
      await createFile(join(objects, hash), content);
      await synced(objects);
      this.#sizes.set(hash, content.length);
    }
    return hash;
  }

  /** The content of a hash. Throws where it is damaged. */
  async content(hash: string): Promise<Buffer> {
    const content = await readFile(join(this.#folder, OBJECTS, hash));
    if (blake3Hex(content) !== hash) throw new Error(`the kept content ${hash} is damaged`);
    return content;
  }

  /** Appends lines; they are on the disk when it settles. */
  async append(lines: readonly JournalLine[]): Promise<void> {
    if (lines.length === 0) return;
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const file = await open(join(this.#folder, JOURNAL), "a", 0o600);
    try {
      // Each on a line of its own, also after one that was cut off.
      await file.writeFile(lines.map((line) => `\n${JSON.stringify(line)}`).join(""));
      await file.sync();
    } finally {
      await file.close();
    }
    for (const line of lines) this.#take(line);
  }

  /** Forgets the oldest turns, but for one, until no more than so many changes and bytes are left. */
  async trim(kept: string, mostChanges: number, mostBytes: number): Promise<void> {
    const turns = this.turns;
    const gone = new Set<string>();
    let { bytes } = this;
    let count = this.#changes.size;
    for (const { id } of turns) {
      if (id === kept || (count <= mostChanges && bytes <= mostBytes)) break;
      gone.add(id);
      const left = this.changes.filter(({ turn }) => !gone.has(turn));
      count = left.length;
      const hashes = new Set(left.map(({ was }) => hashOf(was)));
      bytes = [...this.#sizes].reduce((sum, [hash, size]) => sum + (hashes.has(hash) ? size : 0), 0);
    }
    const last = [...gone].at(-1);
    if (last === undefined) return;
    const lines: JournalLine[] = [
      { kind: "forgotten", turn: last },
      ...turns.filter(({ id }) => !gone.has(id)),
      ...this.changes.filter(({ turn }) => !gone.has(turn)).flatMap(linesOf),
      ...[...this.#done].filter((turn) => !gone.has(turn)).map((turn) => ({ kind: "done", turn }) as const),
    ];
    await replaceFile(join(this.#folder, JOURNAL), lines.map((line) => JSON.stringify(line)).join("\n"));
    for (const map of [this.#turns, this.#changes, this.#newest, this.#done]) map.clear();
    for (const line of lines) this.#take(line);
    const used = new Set(this.changes.map(({ was }) => hashOf(was)));
    const objects = join(this.#folder, OBJECTS);
    for (const hash of (await ifExists(readdir(objects))) ?? []) {
      if (used.has(hash)) continue;
      await rm(join(objects, hash), { force: true });
      this.#sizes.delete(hash);
    }
  }

  #take(line: JournalLine): void {
    switch (line.kind) {
      case "turn":
        this.#turns.set(line.id, line);
        return;
      case "change": {
        const { was, becomes } = line;
        const key = keyOf(line.turn, line.path);
        this.#changes.set(key, { ...line, left: [was, becomes] });
        this.#newest.set(line.path, key);
        const hash = hashOf(was);
        if (hash !== undefined && line.lost === undefined && was.kind === "file")
          this.#sizes.set(hash, was.size);
        return;
      }
      case "becomes": {
        const change = this.newestOf(line.path);
        if (!change) return;
        const left = [...change.left, line.state].slice(-2);
        this.#changes.set(keyOf(change.turn, change.path), { ...change, becomes: line.state, left });
        return;
      }
      case "done":
        this.#done.add(line.turn);
        return;
      case "forgotten":
        this.#forgotten = line.turn;
    }
  }
}

/** The lines from which a change is read again. */
function linesOf({ left, becomes, ...change }: KeptChange): readonly JournalLine[] {
  const [first = becomes] = left;
  const { kind, turn, path, was, lost } = change;
  return [
    { kind, turn, path, was, ...(lost && { lost }), becomes: first },
    { kind: "becomes", path, state: becomes },
  ];
}

function keyOf(turn: string, path: string): string {
  return `${turn}\0${path}`;
}

function hashOf(state: EntryState): string | undefined {
  return state.kind === "file" ? state.hash : undefined;
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}

/** Has the names in a folder reach the disk. */
async function synced(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  await handle.sync().finally(() => handle.close());
}
