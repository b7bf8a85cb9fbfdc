import { join } from "node:path";
import { expect, it } from "vitest";
import { NEEDS_REGISTRY, registryAnswers } from "../../../scripts/test/registry.ts";
import { membersOf } from "../src/acp/message.ts";
import { runCommand } from "../src/model/intent.ts";
import { scene, scenes } from "../src/model/script.ts";
import { attempt, reply, say } from "../src/model/step.ts";
import { textIn } from "./fixtures/home.ts";
import { openRealAgent } from "./fixtures/real-agents.ts";
import { describeConfined, sandbox } from "./sandbox/with-sandbox.ts";

describeConfined("claude, confined", () => {
  it.skipIf(!registryAnswers)(
    `builds and runs what nobody can see into without asking, inside of the workspace and nowhere else${NEEDS_REGISTRY}`,
    async () => {
      const real = await openRealAgent("claude", { script: () => reply(say("-")), sandbox });
      const inside = join(real.workspace, "inside");
      const outside = join(real.home, "..", "outside");
      const write = (path: string) => `node -e "require('fs').writeFileSync('${path}','here')"`;
      real.model.play(
        scenes(
          scene("INSIDE", reply(attempt(runCommand(write(inside))))),
          scene("OUTSIDE", reply(attempt(runCommand(write(outside))))),
        ),
      );
      const id = await real.begin();
      await real.prompt(id, "INSIDE please");
      await real.prompt(id, "OUTSIDE please");
      expect([await textIn(inside), await textIn(outside)]).toEqual(["here", undefined]);
      expect(real.client.asked).toEqual([]);
      const verdicts = (await real.entries("policy_verdict")).map(({ payload }) => membersOf(payload));
      const actions = verdicts.filter(({ event_type }) => event_type === "pre_action");
      expect(actions.map(({ verdict, enforcement, rule }) => [verdict, enforcement, rule])).toEqual([
        ["allowed", "confined", "opaque_execution_when_confined"],
        ["allowed", "confined", "opaque_execution_when_confined"],
      ]);
    },
  );
});
