import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { membersOf } from "@reins/acp";
import { attempt, lookAround, reply, runCommand, say, scene, scenes } from "@reins/scripted-model";
import { expect, it } from "vitest";
import { NEEDS_REGISTRY, registryAnswers } from "../../../scripts/test/registry.ts";
import { describeConfined, sandbox } from "../../runner/test/with-sandbox.ts";
import { textIn } from "./fixtures/home.ts";
import { openRealAgent, REAL_AGENTS } from "./fixtures/real-agents.ts";

describeConfined("a confined agent", () => {
  it.skipIf(!registryAnswers).each(REAL_AGENTS)(
    `%s works without asking inside of the workspace and nowhere else, and is kept from credentials there${NEEDS_REGISTRY}`,
    async (agent) => {
      const real = await openRealAgent(agent, { script: () => reply(say("-")), sandbox });
      const inside = join(real.workspace, "inside");
      const outside = join(real.home, "..", "outside");
      await writeFile(join(real.workspace, "notes.txt"), "canary-of-notes\n");
      await writeFile(join(real.workspace, ".env"), "KEY=canary-of-env\n");
      const write = (path: string) => `node -e "require('fs').writeFileSync('${path}','here')"`;
      real.model.play(
        scenes(
          scene("INSIDE", reply(attempt(runCommand(write(inside))))),
          scene("OUTSIDE", reply(attempt(runCommand(write(outside))))),
          scene("LOOK", reply(attempt(lookAround("cat notes.txt")))),
          scene("SECRET", reply(attempt(runCommand("cat .env")))),
        ),
      );
      const id = await real.begin();
      await real.prompt(id, "INSIDE please");
      await real.prompt(id, "OUTSIDE please");
      expect([await textIn(inside), await textIn(outside)]).toEqual(["here", undefined]);
      expect(real.client.asked).toEqual([]);
      const verdicts = (await real.entries("policy_verdict")).map(({ payload }) => membersOf(payload));
      const actions = verdicts.filter(({ event_type }) => event_type === "pre_action");
      const found = actions.map(({ verdict, enforcement, rule }) => [verdict, enforcement, rule]);
      expect(found).toContainEqual(["allowed", "confined", "confined_work"]);
      for (const [verdict, enforcement] of found)
        expect([verdict, enforcement]).toEqual(["allowed", "confined"]);

      await real.prompt(id, "LOOK please");
      await real.prompt(id, "SECRET please");
      const results = JSON.stringify(real.model.requests.map(({ conversation }) => conversation.items));
      expect(results).toContain("canary-of-notes");
      expect(results).not.toContain("canary-of-env");
      expect(real.client.asked).toEqual([]);
    },
  );
});
