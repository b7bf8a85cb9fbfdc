import type { Bench } from "../../../scripts/bench/bench.ts";
import { accuracyOf, ours, PROMPTS, plainFormula } from "../test/skill-corpus.ts";

/** How often skills are chosen rightly, beside the formula of the protocol's first implementation. */
const bench: Bench = {
  name: "skills",
  title: "100 skills, 130 prompts: the right skill first, and none where none fits",
  async run() {
    const [accuracy, plain] = [accuracyOf(ours, PROMPTS), accuracyOf(plainFormula, PROMPTS)];
    return [
      {
        ...{ what: "right skill first", value: 100 * accuracy.right, unit: "%" },
        baseline: { what: "plain formula", value: 100 * plain.right },
      },
      {
        ...{ what: "none where none fits", value: 100 * accuracy.none, unit: "%" },
        baseline: { what: "plain formula", value: 100 * plain.none },
      },
    ];
  },
};

export default bench;
