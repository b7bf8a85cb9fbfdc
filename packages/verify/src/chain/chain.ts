import type { Entry } from "../entry/entry.ts";
import type { Complaint } from "../report/fault.ts";

/** What the next entry of a session has to name as its parent. */
interface Head {
  last: string;
  turn: string | undefined;
}

/** The parts of an entry that make a chain. */
export type Link = Pick<Entry, "cid" | "entity_id" | "quality" | "parents">;

/** The chains of a ledger, one for each session. */
export class Chain {
  readonly #heads = new Map<string, Head>();

  /** Takes the next entry; complains when its parents are not those that its session leads to. */
  follow({ cid, entity_id, quality, parents }: Link): Complaint | undefined {
    const head = this.#heads.get(entity_id);
    const expected = quality === "turn" ? head?.turn : head?.last;
    if (head === undefined) {
      this.#heads.set(entity_id, { last: cid, turn: quality === "turn" ? cid : undefined });
    } else {
      head.last = cid;
      if (quality === "turn") head.turn = cid;
    }
    const holds =
      expected === undefined ? parents.length === 0 : parents.length === 1 && parents[0] === expected;
    if (holds) return undefined;
    const wanted = quality === "turn" ? "the session's previous turn" : "the session's previous entry";
    return {
      code: "chain_broken",
      message: `the entry does not follow ${wanted}: something was removed, added, moved or changed`,
      expected: JSON.stringify(expected === undefined ? [] : [expected]),
      found: JSON.stringify(parents),
    };
  }
}
