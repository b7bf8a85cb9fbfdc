import { createElement } from "react";
import { describe, expect, test } from "vitest";
import { cached, rendered, renderedText } from "../../test/render.ts";
import { FaultList } from "../pages/ledger/ledger-page.tsx";
import { COMPARISON } from "./compare.ts";
import { BrokenHistory, ComparisonLine } from "./comparison-view.tsx";
import { ProvePanel } from "./prove-panel.tsx";

const checkpoint = (size: number) => ({
  logKey: "log",
  size,
  note: `reins/log\n${size}\nroot\n`,
  at: "2026-01-01",
});
const compared = (comparison: object) => cached([[...COMPARISON], comparison]);

describe("the comparison with the kept checkpoint", () => {
  const line = (comparison: object) => renderedText(createElement(ComparisonLine), compared(comparison));
  const broken = {
    kind: "broken",
    before: checkpoint(9),
    now: checkpoint(4),
    why: "It had 9 entries and now shows 4.",
  };

  test("says that the history was extended, seen first, or changed", () => {
    expect(line({ kind: "first", now: checkpoint(1_200) })).toContain(
      "First look at this ledger: 1,200 entries.",
    );
    const grown = line({ kind: "extends", before: checkpoint(4), now: checkpoint(9) });
    expect(grown).toContain("9 entries that begin with the 4 this browser saw before");
    expect(line(broken)).toBe("The history differs from the kept checkpoint.");
    expect(renderedText(createElement(ComparisonLine))).toContain("Comparing");
  });

  test("warns on every page only if the history was changed", () => {
    const warning = (comparison: object) => renderedText(createElement(BrokenHistory), compared(comparison));
    expect(warning(broken)).toContain("It had 9 entries and now shows 4.");
    expect(warning({ kind: "first", now: checkpoint(4) })).toBe("");
    expect(renderedText(createElement(BrokenHistory))).toBe("");
  });
});

describe("the proof of an entry", () => {
  const cid = "c".repeat(64);
  const proof = {
    index: 2,
    hashes: ["hash-one", "hash-two"],
    checkpoint: "reins/log\n4\ncm9vdHJvb3Q=\n",
    entry: { cid },
  };
  const step = (state: string, title = "It is in the tree") => ({ title, state, detail: `${title} \u202e` });
  const panel = (...steps: readonly object[]) =>
    cached([["proof", cid], { steps, proof, file: JSON.stringify(proof) }]);

  test("holds if no step fails, and shows each with its evidence", () => {
    const shown = renderedText(
      createElement(ProvePanel, { cid }),
      panel(step("holds"), step("open", "Signed")),
    );
    expect(shown).toContain("Proof holds");
    expect(shown).toContain("✓ holds: It is in the tree It is in the tree ⟨U+202E⟩");
    expect(shown).toContain("· open: Signed");
  });

  test("does not hold if one step fails", () => {
    const shown = renderedText(createElement(ProvePanel, { cid }), panel(step("holds"), step("fails")));
    expect(shown).toContain("Proof does not hold");
    expect(shown).toContain("✗ fails: It is in the tree");
  });

  test("draws the path to the root with the hashes of the siblings", () => {
    const html = rendered(createElement(ProvePanel, { cid }), panel(step("holds")));
    expect(html).toContain("Entry 2 leads by 2 steps to the root of 4 entries");
    expect(html).toContain("3 · hash-one".slice(0, 12));
    expect(html).toContain("0–1 · hash-two".slice(0, 14));
    expect(html).toContain("root of 4 · cm9vdHJv");
  });
});

test("faults name their entry, and are absent if there are none", () => {
  const faults = [
    { code: "inclusion_invalid", message: "a leaf is missing", seq: 4 },
    { code: "log_key_mismatch", message: "another key" },
  ] as const;
  const shown = renderedText(createElement(FaultList, { faults }));
  expect(shown).toContain("Entry 4: a leaf is missing");
  expect(shown).toContain("another key");
  expect(renderedText(createElement(FaultList, { faults: [] }))).toBe("");
});
