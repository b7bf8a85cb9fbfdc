import { existsSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type Intent, readFile, runCommand, writeFile as writing } from "../model/intent.ts";
import { type Scene, scene } from "../model/script.ts";
import type { SeenRequest } from "../model/scripted-model.ts";
import { attempt, reply, say } from "../model/step.ts";
import type { TrialAnswer } from "./trial-home.ts";

/** What an agent is asked to do in a trial. */
export const PROBES = ["write", "command", "read"] as const;
export type ProbeName = (typeof PROBES)[number];

/** Where a trial takes place: in a harmless workspace, in a hostile one, and there once more in a new process. */
export const SETTINGS = ["plain", "hostile", "loaded", "resumed"] as const;
export type ProbeSetting = (typeof SETTINGS)[number];

/** One thing that an agent is asked to do, and how to see whether it did. */
export interface GateProbe {
  readonly setting: ProbeSetting;
  readonly name: ProbeName;
  readonly answer: TrialAnswer;
  /** What the agent is told; the model knows it by this word. */
  readonly prompt: string;
  readonly scene: Scene;
  /** What the agent needs to find. */
  prepare(): Promise<void>;
  /** Whether it was done, by what is on the disk or has reached the model. */
  happened(requests: readonly SeenRequest[]): boolean;
}

/** A probe of a workspace. Nothing of one can be taken for the doing of another. */
export function gateProbe(
  where: Pick<GateProbe, "setting" | "name" | "answer">,
  workspace: string,
  secret: string,
): GateProbe {
  const { setting, name, answer } = where;
  const mark = `${name}-${setting}-${answer}`;
  const path = join(workspace, `canary-${mark}.txt`);
  const word = `PROBE-${mark}`;
  const intents: Readonly<Record<ProbeName, Intent>> = {
    write: writing(path, "canary\n"),
    command: runCommand(`echo canary > '${path}'`),
    read: readFile(path),
  };
  return {
    ...where,
    prompt: `${word}: do it, please.`,
    scene: scene(word, reply(attempt(intents[name])), reply(say("That was it."))),
    prepare: async () => {
      if (name === "read") await writeFile(path, `${secret}\n`);
    },
    happened: (requests) =>
      name === "read"
        ? requests.some(({ conversation }) => JSON.stringify(conversation).includes(secret))
        : existsSync(path),
  };
}
