import type { Bench } from "../../../scripts/bench/bench.ts";
import { accuracyOf, HELD_OUT, ours, PROMPTS, plainFormula, UNSEEN } from "../test/skill-corpus.ts";

/** How often skills are chosen rightly, beside the formula of the protocol's first implementation. */
const bench: Bench = {
  name: "skills",
  title: "100 skills, 130 prompts: the right skill first, and none where none fits",
  async run() {
    const corpora = [
      ["", PROMPTS],
      [" (40 held out)", HELD_OUT],
      [" (30 written last)", UNSEEN],
    ] as const;
    return corpora.flatMap(([which, prompts]) => {
      const [accuracy, plain] = [accuracyOf(ours, prompts), accuracyOf(plainFormula, prompts)];
      return [
        {
          ...{ what: `right skill first${which}`, value: 100 * accuracy.right, unit: "%" },
          baseline: { what: "plain formula", value: 100 * plain.right },
        },
        {
          ...{ what: `none where none fits${which}`, value: 100 * accuracy.none, unit: "%" },
          baseline: { what: "plain formula", value: 100 * plain.none },
        },
      ];
    });
  },
};

export default bench;
