import { readdir, rm, stat, statfs } from "node:fs/promises";
import { basename, dirname, join, sep } from "node:path";
import type { EntryChange, SnapshotTurn } from "@reins/agent";
import { errorCode, errorMessage, hasCode, ifExists, KeyedQueue, LruCache } from "@reins/kit";
import { blake3Hex } from "@reins/ledger";
import { FileFault } from "../files/file-fault.ts";
import type { HeldFolder } from "../files/held-folder.ts";
import { expectFree } from "../files/tenant-room.ts";
import { type EntryNow, type EntryState, entryAt, isSame, walkFolder } from "./entry-state.ts";
import { type JournalLine, type Lost, SnapshotJournal, type TurnLine } from "./snapshot-journal.ts";

/** How much is kept. */
export interface SnapshotLimits {
  /** The largest file. */
  readonly fileBytes: number;
  /** The contents of one session, and how many changes of files. */
  readonly sessionBytes: number;
  readonly changes: number;
  /** How many entries of a folder that is removed. */
  readonly treeEntries: number;
}

const LIMITS: SnapshotLimits = {
  fileBytes: 16 * 1024 * 1024,
  sessionBytes: 256 * 1024 * 1024,
  changes: 20_000,
  treeEntries: 5_000,
};
/** How long a turn's prompt is shown. */
const PROMPT_LENGTH = 200;
const MOST_OPEN = 100;

export interface FileSnapshotsOptions {
  readonly home: string;
  readonly limits?: Partial<SnapshotLimits>;
  /** What the disk of the home has, and what of that is free. */
  readonly space?: HeldFolder["space"];
  /** Receives what went wrong where nothing else is to be done. */
  readonly onError?: (error: unknown) => void;
}

/** A session with files. */
export interface SnapshotPlace {
  readonly tenant: string;
  readonly session: string;
}

/** A turn in which files were changed, or a rewind. */
export interface SnapshotTurnInfo extends TurnLine {
  /** How many entries were changed. */
  readonly files: number;
  /** Whether a rewind was cut off before its end. */
  readonly isCut: boolean;
}

/** What is to be done to an entry to have it as it was. */
export interface PlannedRestore {
  readonly path: string;
  readonly target: EntryState;
  readonly current: EntryState;
  /** The version of the file that is there. */
  readonly version: string | undefined;
  readonly state: "restore" | "unchanged" | "conflict" | "lost";
  /** Why it cannot be restored as it is. */
  readonly reason?: string;
}

/** An entry that is about to be changed. */
interface Pending {
  readonly path: string;
  readonly found: EntryNow;
  readonly lost?: Lost;
  readonly becomes: EntryState;
}

const ABSENT: EntryState = { kind: "absent" };
const LOST: Readonly<Record<Lost, string>> = {
  too_large: "what was there was too large to be kept",
  session_full: "what was there was not kept: the session has kept as much as it may",
  no_room: "what was there was not kept: the disk had no room left",
  unreadable: "what was there could not be read",
};

/**
 * Keeps what the files of sessions were before Reins changed them: once for each turn and file, on the disk before the
 * change. What commands change is not among it.
 */
export class FileSnapshots {
  readonly #options: FileSnapshotsOptions;
  readonly #limits: SnapshotLimits;
  readonly #journals = new LruCache<string, SnapshotJournal>({ entries: MOST_OPEN });
  /** The journal of a session is used by one at a time, and so is a file. */
  readonly #sessions = new KeyedQueue();
  readonly #paths = new KeyedQueue();

  constructor(options: FileSnapshotsOptions) {
    this.#options = options;
    this.#limits = { ...LIMITS, ...options.limits };
  }

  /** Changes an entry after what is there was kept. Rejects, and changes nothing, where that cannot be recorded. */
  change<Result>(
    place: SnapshotPlace,
    turn: SnapshotTurn,
    change: EntryChange,
    run: () => Promise<Result>,
  ): Promise<Result> {
    return this.#paths.run(`${place.session}\0${change.path}`, async () => {
      const paths = await this.#within(place, async (journal) => {
        const pending = await this.#pendingOf(change);
        const { id, at, prompt } = turn;
        await this.#makeRoom(journal, id, pending);
        await this.#record(
          journal,
          { kind: "turn", id, at, prompt: prompt.slice(0, PROMPT_LENGTH) },
          pending,
        );
        return pending.map(({ path }) => path);
      }).catch(notKept);
      const check = (of: readonly string[]) => this.#check(place, of).catch(this.#fault);
      try {
        const result = await run();
        await check([change.path]);
        return result;
      } catch (error) {
        await check(paths);
        throw error;
      }
    });
  }

  /** The turns in which files were changed, and the rewinds, in their order; and the last one that is forgotten. */
  turns(place: SnapshotPlace): Promise<{
    readonly turns: readonly SnapshotTurnInfo[];
    readonly forgotten: string | undefined;
  }> {
    return this.#within(place, async (journal) => {
      const counts = new Map<string, number>();
      for (const { turn } of journal.changes) counts.set(turn, (counts.get(turn) ?? 0) + 1);
      const turns = journal.turns.map((line) => {
        return { ...line, files: counts.get(line.id) ?? 0, isCut: journal.isCut(line.id) };
      });
      return { turns, forgotten: journal.forgotten };
    });
  }

  /** What is to be done to have files as they were before the first of some turns, which are the last ones. */
  plan(place: SnapshotPlace, turns: ReadonlySet<string>): Promise<readonly PlannedRestore[]> {
    return this.#within(place, async (journal) => {
      const byPath = Map.groupBy(
        journal.changes.filter(({ turn }) => turns.has(turn)),
        ({ path }) => path,
      );
      const planned: PlannedRestore[] = [];
      for (const [path, changes] of byPath) {
        const [first] = changes;
        const last = changes.at(-1);
        if (!first || !last) continue;
        const { state: current, version } = await entryAt(path, 0);
        const one = { path, target: first.was, current, version };
        // What takes the place of an entry of another kind is written after that is removed.
        const isHalf = journal.isCut(last.turn) && current.kind === "absent";
        const isOurs = isHalf || last.left.some((state) => isSame(state, current));
        const isWhole = changes.every(
          ({ was }, index) => index === 0 || changes[index - 1]?.left.some((state) => isSame(state, was)),
        );
        if (isSame(first.was, current)) planned.push({ ...one, state: "unchanged" });
        else if (first.lost) planned.push({ ...one, state: "lost", reason: LOST[first.lost] });
        else if (!isOurs)
          planned.push({ ...one, state: "conflict", reason: "it is not as Reins last left it" });
        else if (!isWhole)
          planned.push({ ...one, state: "conflict", reason: "it was also changed otherwise in between" });
        else planned.push({ ...one, state: "restore" });
      }
      return planned;
    });
  }

  /** Keeps what is there before a rewind, which is a turn of its own: to go back to before it undoes it. */
  begin(
    place: SnapshotPlace,
    rewind: { readonly id: string; readonly at: string; readonly before: string },
    restores: readonly PlannedRestore[],
  ): Promise<void> {
    return this.#within(place, async (journal) => {
      const pending: Pending[] = [];
      for (const { path, target, state } of restores) {
        const found = await entryAt(path, this.#limits.fileBytes);
        const { lost } = lostOf(found);
        // What others left there is in no other place.
        if (lost && state === "conflict") throw new Error(`${path}: ${LOST[lost]}`);
        pending.push({ path, found, ...(lost && { lost }), becomes: target });
      }
      // Nothing is forgotten for it: the contents are needed that it restores.
      await this.#record(journal, { kind: "turn", ...rewind }, pending);
    }).catch(notKept);
  }

  /** A content that was kept. */
  content(place: SnapshotPlace, hash: string): Promise<Buffer> {
    return this.#within(place, (journal) => journal.content(hash));
  }

  /** Notes that a rewind is over, and what is there now at the paths that it could not restore. */
  end(place: SnapshotPlace, rewind: string, failed: readonly string[]): Promise<void> {
    return this.#check(place, failed).then(() =>
      this.#within(place, (journal) => journal.append([{ kind: "done", turn: rewind }])),
    );
  }

  /** Forgets a session. */
  remove(place: SnapshotPlace): Promise<void> {
    return this.#within(place, async () => {
      this.#journals.delete(place.session);
      await rm(this.#folderOf(place), { recursive: true, force: true });
    });
  }

  /** Forgets sessions that are not to be kept, and those in which nothing was changed since an instant. */
  async prune(isKept: (place: SnapshotPlace) => Promise<boolean>, before?: Date): Promise<void> {
    const root = join(this.#options.home, "snapshots");
    for (const tenant of (await ifExists(readdir(root))) ?? [])
      for (const session of (await ifExists(readdir(join(root, tenant)))) ?? []) {
        const place = { tenant, session };
        const found = await ifExists(stat(join(this.#folderOf(place), "journal.jsonl")));
        const isOld = found && before && found.mtime < before;
        if (isOld || !(await isKept(place))) await this.remove(place);
      }
  }

  readonly #fault = (error: unknown) => this.#options.onError?.(error);

  #folderOf({ tenant, session }: SnapshotPlace): string {
    return join(this.#options.home, "snapshots", basename(tenant), basename(session));
  }

  #within<Result>(place: SnapshotPlace, use: (journal: SnapshotJournal) => Promise<Result>): Promise<Result> {
    return this.#sessions.run(place.session, async () => {
      const journal =
        this.#journals.get(place.session) ?? (await SnapshotJournal.open(this.#folderOf(place)));
      this.#journals.set(place.session, journal);
      return use(journal);
    });
  }

  /** The entries that a change is about, as they are: also the folders that are made for a file, and all that is removed. */
  async #pendingOf({ path, content }: EntryChange): Promise<readonly Pending[]> {
    const { fileBytes, treeEntries } = this.#limits;
    const found = await entryAt(path, fileBytes);
    if (content === undefined) {
      if (found.state.kind !== "folder") return [{ path, found, ...lostOf(found), becomes: ABSENT }];
      const inner: Pending[] = [];
      const isWhole = await walkFolder(path, fileBytes, treeEntries, (at, one) => {
        inner.push({ path: at, found: one, ...lostOf(one), becomes: ABSENT });
      });
      return isWhole
        ? [{ path, found, becomes: ABSENT }, ...inner]
        : [{ path, found, lost: "too_large", becomes: ABSENT }];
    }
    const bytes = Buffer.from(content);
    const becomes: EntryState = { kind: "file", hash: blake3Hex(bytes), size: bytes.length };
    const made: Pending[] = [];
    for (let folder = dirname(path); folder !== sep; folder = dirname(folder)) {
      const state = await entryAt(folder, 0);
      if (state.state.kind !== "absent") break;
      made.unshift({ path: folder, found: state, becomes: { kind: "folder" } });
    }
    return [...made, { path, found, ...lostOf(found), becomes }];
  }

  /** Keeps contents and records what they are of, before anything is changed. */
  async #record(journal: SnapshotJournal, turn: TurnLine, pending: readonly Pending[]): Promise<void> {
    const lines: JournalLine[] = journal.hasTurn(turn.id) ? [] : [turn];
    for (const { path, found, lost: before, becomes } of pending) {
      if (journal.changeOf(turn.id, path)) lines.push({ kind: "becomes", path, state: becomes });
      else {
        const lost = before ?? (await this.#keep(journal, found, turn.before !== undefined));
        lines.push({ kind: "change", turn: turn.id, path, was: found.state, ...(lost && { lost }), becomes });
      }
    }
    await journal.append(lines);
  }

  /** Makes room for changes in a turn, if the session has kept as much as it may. */
  #makeRoom(journal: SnapshotJournal, turn: string, pending: readonly Pending[]): Promise<void> {
    const { changes, sessionBytes } = this.#limits;
    const bytes = pending.reduce((sum, { found }) => sum + (found.content?.length ?? 0), 0);
    return journal.trim(turn, Math.max(0, changes - pending.length), Math.max(0, sessionBytes - bytes));
  }

  /**
   * Keeps a content; returns why, where it cannot be kept. For a rewind it is kept in any case, or that throws: the next
   * change makes the room again.
   */
  async #keep(journal: SnapshotJournal, { content }: EntryNow, isRewind: boolean): Promise<Lost | undefined> {
    if (!content || journal.holds(blake3Hex(content))) return undefined;
    if (!isRewind && journal.bytes + content.length > this.#limits.sessionBytes) return "session_full";
    try {
      await expectFree({ space: this.#options.space ?? (() => spaceOf(this.#options.home)) });
      await journal.keep(content);
      return undefined;
    } catch (error) {
      if (isRewind || !hasCode(error, "ENOSPC", "EDQUOT", "unavailable")) throw error;
      return "no_room";
    }
  }

  /** Records what is at some paths, where that is other than what was meant. */
  #check(place: SnapshotPlace, paths: readonly string[]): Promise<void> {
    return this.#within(place, async (journal) => {
      const lines: JournalLine[] = [];
      for (const path of paths) {
        const { state } = await entryAt(path, 0);
        const meant = journal.newestOf(path)?.becomes;
        if (meant && !isSame(meant, state)) lines.push({ kind: "becomes", path, state });
      }
      await journal.append(lines);
    });
  }
}

/** Why nothing was changed: what is there could not be kept. */
function notKept(error: unknown): never {
  const why = errorCode(error) ?? errorMessage(error);
  throw new FileFault("unavailable", `what is there could not be kept, so nothing was changed (${why})`, {
    cause: error,
  });
}

function lostOf({ state, content }: EntryNow): { readonly lost?: Lost } {
  if (state.kind === "other") return { lost: "unreadable" };
  if (state.kind !== "file" || content) return {};
  return { lost: state.mode === undefined ? "unreadable" : "too_large" };
}

async function spaceOf(home: string): Promise<{ readonly free: number; readonly total: number }> {
  const { bavail, blocks, bsize } = await statfs(home);
  return { free: bavail * bsize, total: blocks * bsize };
}
