import { Catalogue } from "@reins/agents";
import { attempt, reply, runCommand, ScriptedModel, say, scene, scenes } from "@reins/scripted-model";
import { z } from "zod";

/** What the model does when a prompt holds a word: it says something, or runs a command and then says something. */
const Scenes = z.array(z.strictObject({ prompt: z.string(), says: z.string(), runs: z.string().optional() }));

/**
 * A scripted model as a program, for tests of other packages: the script comes as JSON, and the endpoint is the first
 * line it prints. It ends when its parent ends.
 */
const given = Scenes.parse(JSON.parse(process.argv[2] ?? "[]"));
const script = scenes(
  ...given.map(({ prompt, says, runs }) =>
    scene(prompt, ...(runs === undefined ? [] : [reply(attempt(runCommand(runs)))]), reply(say(says))),
  ),
);
const model = await ScriptedModel.listen({ script, wordings: Catalogue.load().wordings });
console.log(JSON.stringify(model.endpoint));
process.stdin.resume().once("end", () => process.exit());
