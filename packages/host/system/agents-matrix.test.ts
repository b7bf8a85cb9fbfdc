import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { NEEDS_REGISTRY, registryAnswers } from "../../../scripts/test/registry.ts";
import { testAgents } from "../../agents/test/test-agents.ts";
import { CASES, ESSENTIAL } from "../torture/agents/cases.ts";
import { expectedCells } from "../torture/agents/expected.ts";
import { MatrixAgent } from "../torture/agents/matrix-agent.ts";
import { INSTALL_MS, REAL_AGENTS } from "./fixtures/real-agents.ts";

const expected = expectedCells();

// The whole matrix, for every agent and confined too, is `npm run torture -- agents`.
describe.skipIf(!registryAnswers).each(REAL_AGENTS)(
  `%s under the rules of a new home${NEEDS_REGISTRY}`,
  (agent) => {
    let real: MatrixAgent;
    beforeAll(async () => {
      await testAgents().install(agent);
      real = await MatrixAgent.open(agent, undefined);
    }, INSTALL_MS);
    afterAll(() => real?.[Symbol.asyncDispose]());

    test.each(CASES.filter(({ name }) => ESSENTIAL.includes(name)))(
      "is held as its cell of the matrix says: $name",
      async ({ name, run }) => {
        expect(await run(real)).toBe(expected[agent]?.free[name]);
      },
    );
  },
);
