import { describe, expect, test } from "vitest";
import { runsOf } from "./event-log.ts";
import { stillToStore } from "./journal.ts";

const said = (n: number, session = "s", tenant = "t") => ({ tenant, session, message: { n } });
const AT = { epoch: 3, at: 7 };

describe("messages as runs", () => {
  test("go together while nothing but their text differs, each at the next place of its tenant", () => {
    const places = new Map([["t", 10]]);
    const batch = [said(1), said(2), said(3, "other"), { ...said(4), except: "c" }, said(5, "s", "another")];
    const runs = runsOf(batch, { ...AT, places });
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

  test("are still to be stored after what is, and holes between them are reported", () => {
    const run = (first: number, ...texts: string[]) => ({ tenant: "t", session: "s", ...AT, first, texts });
    const runs = [run(1, "{}", "{}"), run(3, "{}"), run(4, "{}", "{}"), run(9, "{}")];
    const lasts = new Map([["t", 3]]);
    const places = new Map([
      ["t", 11],
      ["u", 2],
    ]);
    expect(stillToStore({ left: runs, places }, lasts)).toEqual({
      runs: [run(4, "{}", "{}"), run(9, "{}")],
      holes: [
        { tenant: "t", first: 6, last: 8 },
        { tenant: "t", first: 10, last: 11 },
        { tenant: "u", first: 1, last: 2 },
      ],
    });
    expect(lasts.get("t")).toBe(11);
  });
});
