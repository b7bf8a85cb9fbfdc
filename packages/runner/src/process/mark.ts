import { createHash } from "node:crypto";

/** The environment variable that holds a process's mark. */
export const MARK_VARIABLE = "REINS_PROCESS";

/**
 * Marks a process of ours, in two ways that its children inherit. The text is a variable of its
 * environment. The brand is its limit of file locks, which the kernel has not looked at since Linux 2.4: it stays
 * when a program clears its environment, closes every descriptor and leaves its session.
 */
export interface Mark {
  /** `<home>.<pid of the owner>.<id>` */
  readonly text: string;
  /** 18 digits: 5 of the home, 7 of the owner's pid, 6 of a count. */
  readonly brand: string;
}

/** The beginnings that all marks of one home, or of one owner, have in common. */
export type MarkPrefix = Mark;

const BRAND = /^(\d{5})(\d{7})\d{6}$/;
const COUNTS = 1_000_000;

/** What all marks of a home begin with. */
export function homePrefix(home: string): MarkPrefix {
  const digest = createHash("sha256").update(home).digest();
  return {
    text: `${digest.toString("hex", 0, 8)}.`,
    brand: String(10_000 + (digest.readUInt32BE(8) % 90_000)),
  };
}

/** What all marks begin with that one process, working from a home, gives. */
export function ownerPrefix(home: string, owner: number): MarkPrefix {
  const prefix = homePrefix(home);
  return { text: `${prefix.text}${owner}.`, brand: prefix.brand + String(owner).padStart(7, "0") };
}

/** The mark with that id and count. */
export function markOf(prefix: MarkPrefix, id: string, count: number): Mark {
  return { text: prefix.text + id, brand: prefix.brand + String(count % COUNTS).padStart(6, "0") };
}

/** The pid of the process that gave a mark, if the mark is of that home. */
export function ownerOf(found: Partial<Mark>, home: MarkPrefix): number | undefined {
  if (found.text?.startsWith(home.text)) {
    const owner = Number(found.text.slice(home.text.length).split(".", 1)[0]);
    if (Number.isSafeInteger(owner) && owner > 0) return owner;
  }
  const [, prefix, owner] = BRAND.exec(found.brand ?? "") ?? [];
  return prefix === home.brand ? Number(owner) : undefined;
}
