import type { Store } from "@reins/store";
import { describe, expect, it } from "vitest";
import { Backlog, runsOf } from "./backlog.ts";
import type { Run } from "./tables.ts";

/** A backlog before a store that keeps nothing, and how many runs each commit brought. */
function opened({ most = 1_000 } = {}) {
  const commits: number[] = [];
  const commit: Store["commit"] = async (changes) => {
    for (const { args } of changes) commits.push(Object(args).runs.length);
    return changes.map(() => undefined) as never;
  };
  const backlog = new Backlog({ store: { commit }, most, onFailed: () => undefined });
  let stored = 0;
  const gather = (text = "{}") => {
    backlog.add();
    backlog.gather([runOf(text)], 1, () => {
      stored += 1;
    });
  };
  return { backlog, commits, gather, stored: () => stored };
}

function runOf(text: string): Run {
  return {
    tenant: "t",
    session: "s",
    request: undefined,
    except: undefined,
    epoch: 1,
    at: 0,
    first: 1,
    texts: [text],
  };
}

describe("the backlog of a log", () => {
  it("gathers what comes piece by piece, and brings it before it is much", async () => {
    const { backlog, commits, gather, stored } = opened();
    for (let time = 0; time < 23; time += 1) gather();
    expect(commits).toEqual([]);
    gather();
    expect(commits).toEqual([24]);
    await backlog.inStore();
    expect([backlog.isEmpty, stored()]).toEqual([true, 1]);
  });

  it("does not wait for more when one piece is large, or there is no room left", () => {
    const large = opened();
    large.gather("x".repeat(64 * 1024));
    expect(large.commits).toEqual([1]);
    const full = opened({ most: 2 });
    for (let time = 0; time < 3; time += 1) full.gather();
    expect(full.commits).toEqual([3]);
  });

  it("flushes the batch when the store is read", async () => {
    const { backlog, commits, gather } = opened();
    gather();
    await backlog.inStore();
    expect(commits).toEqual([1]);
    expect(backlog.isEmpty).toBe(true);
  });
});

const said = (n: number, session = "s", tenant = "t") => ({ tenant, session, message: { n } });
const AT = { epoch: 3, at: 7 };

describe("messages as runs", () => {
  it("go together while nothing but their text differs, each at the next place of its tenant", () => {
    const places = new Map([["t", 10]]);
    const batch = [said(1), said(2), said(3, "other"), { ...said(4), except: "c" }, said(5, "s", "another")];
    const runs = runsOf(batch, { epochOf: () => AT.epoch, at: AT.at, places });
    expect(runs).toEqual([
      { tenant: "t", session: "s", ...AT, first: 11, texts: ['{"n":1}', '{"n":2}'] },
      { tenant: "t", session: "other", ...AT, first: 13, texts: ['{"n":3}'] },
      { tenant: "t", session: "s", except: "c", ...AT, first: 14, texts: ['{"n":4}'] },
      { tenant: "another", session: "s", ...AT, first: 1, texts: ['{"n":5}'] },
    ]);
    expect([...places]).toEqual([
      ["t", 14],
      ["another", 1],
    ]);
  });
});
