import { existsSync, statSync } from "node:fs";
import { StoreError } from "../store-error.ts";
import { bootId, type Mark, markBeside, readMark } from "./commit-mark.ts";
import { translate } from "./outcome.ts";
import { damagedPages } from "./page-sums.ts";
import { type DatabaseFile, openDatabase } from "./sqlite-database.ts";

/** What a database lacks of what was written to it. */
export interface StoreLoss {
  /**
   * `rolled_back`: commits that were kept are gone. `tail`: the newest commits, which were not durable yet, were lost in a
   * power cut. `damaged`: some of it is not what was written. `unknown`: nothing is left to compare with.
   */
  readonly kind: "rolled_back" | "tail" | "damaged" | "unknown";
  /** For a person. */
  readonly text: string;
}

/** So many are named. */
const MAX_NAMED = 8;

/** What was found. */
export interface Examination {
  readonly losses: readonly StoreLoss[];
  /** Whether the sums of the pages are there and right. */
  readonly isSummed: boolean;
}

/** Compares a database with what is kept beside it. Call it while there is no writer; changes nothing. */
export function examine(path: string): Examination {
  const mark = markBeside(path);
  if (mark === undefined) return { losses: [], isSummed: false };
  if (mark === "damaged") {
    const text = `${path}.mark is damaged, so it cannot show whether commits are missing`;
    return { losses: [{ kind: "unknown", text }], isSummed: false };
  }
  if (!existsSync(path) || statSync(path).size + sizeOfLog(path) === 0) {
    const text = `the database is gone, and ${mark.count} commits with it`;
    return { losses: mark.count === 0 ? [] : [{ kind: "rolled_back", text }], isSummed: false };
  }
  const commits = compare(mark, countOf(path));
  const pages = existsSync(path) ? damagedPages(path) : undefined;
  const isForeign = commits.length === 0 && isTakenOver(path, mark);
  const losses = pages && pages.length > 0 && !isForeign ? [...commits, damageOf(pages)] : commits;
  return { losses, isSummed: pages?.length === 0 };
}

/** Refuses a database that lacks something, but for what a power cut may take. */
export function refuseLosses(losses: readonly StoreLoss[]): void {
  const refused = losses.filter(({ kind }) => kind === "rolled_back" || kind === "damaged");
  if (refused.length === 0) return;
  const code = refused.some(({ kind }) => kind === "rolled_back") ? "lost" : "corrupt";
  throw new StoreError(code, refused.map(({ text }) => text).join("; "));
}

function compare(mark: Mark, found: Pick<Mark, "count" | "token"> | undefined): StoreLoss[] {
  const count = found?.count ?? 0;
  if (count > mark.count || (count === mark.count && found?.token === mark.token)) return [];
  if (count === mark.count)
    return [
      { kind: "rolled_back", text: "another copy of the database was put in its place and written to" },
    ];
  const missing = mark.count - count;
  const isPowerCut = mark.boot === "" || mark.boot !== bootId();
  if (isPowerCut && count >= mark.durable)
    return [
      { kind: "tail", text: `a power cut took the last ${missing} commits, which were not yet on the disk` },
    ];
  const text = `the last ${missing} of ${mark.count} commits are missing: an older copy was put in its place, or its log (-wal) is damaged or gone`;
  return [{ kind: "rolled_back", text }];
}

/**
 * Whether another program has taken over the log of a database that was not closed in order: then the sums of its pages
 * are outdated.
 */
function isTakenOver(path: string, { closed }: Mark): boolean {
  return !closed && sizeOfLog(path) === 0;
}

function damageOf(pages: readonly number[]): StoreLoss {
  const named = pages.slice(0, MAX_NAMED).join(", ");
  const more = pages.length > MAX_NAMED ? ", …" : "";
  const what = pages.length === 1 ? "1 page of the database is" : `${pages.length} pages of the database are`;
  return { kind: "damaged", text: `${what} not what was written (${named}${more})` };
}

/** Reads without writing, so that what could still be brought back is left as it is. */
function countOf(path: string): Pick<Mark, "count" | "token"> | undefined {
  let file: DatabaseFile | undefined;
  try {
    file = openDatabase(path, true);
    return readMark(file);
  } catch (error) {
    throw translate(error);
  } finally {
    file?.close();
  }
}

function sizeOfLog(path: string): number {
  const log = `${path}-wal`;
  return existsSync(log) ? statSync(log).size : 0;
}
