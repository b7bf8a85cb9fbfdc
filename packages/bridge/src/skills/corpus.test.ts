import { describe, expect, it } from "vitest";
import { accuracyOf, ours, PROMPTS, plainFormula, SKILLS, UNSEEN } from "../../test/skill-corpus.ts";

describe("130 prompts for 100 skills", () => {
  it("get the right skill first in nine of ten cases, and none in eight of ten where none fits", () => {
    expect(SKILLS).toHaveLength(100);
    expect(PROMPTS).toHaveLength(130);
    expect(PROMPTS.filter(({ skill }) => skill === null)).toHaveLength(30);
    const { right, none } = accuracyOf(ours, PROMPTS);
    expect(right).toBeGreaterThanOrEqual(0.9);
    expect(none).toBeGreaterThanOrEqual(0.8);
    expect(right).toBeGreaterThan(accuracyOf(plainFormula, PROMPTS).right);
    const unseen = [accuracyOf(ours, UNSEEN), accuracyOf(plainFormula, UNSEEN)] as const;
    console.info(`30 prompts that were written last: ${JSON.stringify(unseen)}`);
    expect(unseen[0].right).toBeGreaterThan(unseen[1].right);
  });
});
