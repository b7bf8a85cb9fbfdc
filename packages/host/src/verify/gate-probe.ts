import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  fetchPage,
  type Intent,
  lookAround,
  readFile,
  runCommand,
  writeFile as writing,
} from "../model/intent.ts";
import { type Scene, scene } from "../model/script.ts";
import type { SeenRequest } from "../model/scripted-model.ts";
import { attempt, reply, say } from "../model/step.ts";
import type { TrialAnswer } from "./trial-home.ts";
import type { TrialSite } from "./trial-site.ts";

/**
 * What an agent is asked to do in a trial: to write a file, to run a command that changes something and one that only
 * looks around, to read a file in the workspace and one outside of it, to fetch a page.
 */
export const PROBES = ["write", "command", "look", "read", "outside", "fetch"] as const;
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
  /** Whether it was done, by what is on the disk, has reached the model or has come to the site. */
  happened(requests: readonly SeenRequest[]): boolean;
}

/** What probes work on. */
export interface ProbeGround {
  readonly workspace: string;
  /** A folder that is not in any workspace. */
  readonly outside: string;
  readonly site: Pick<TrialSite, "addressOf" | "wasVisited">;
  /** What no agent can guess. */
  readonly secret: string;
}

/**
 * The probes of one round. What leads out of the workspace is tried where sessions begin. Agents fetch from public
 * addresses only, so one that may fetch ours would prove nothing.
 */
export function probesOf({ setting, answer }: Pick<GateProbe, "setting" | "answer">): readonly ProbeName[] {
  const begins = setting === "plain" || setting === "hostile";
  return PROBES.filter((name) => {
    if (name === "outside") return begins;
    return name !== "fetch" || (begins && answer === "reject");
  });
}

/** A probe of a workspace. Nothing of one can be taken for the doing of another. */
export function gateProbe(
  where: Pick<GateProbe, "setting" | "name" | "answer">,
  ground: ProbeGround,
): GateProbe {
  const mark = `${where.name}-${where.setting}-${where.answer}`;
  const word = `PROBE-${mark}`;
  const { intent, prepare = async () => undefined, happened } = DEEDS[where.name](ground, mark);
  return {
    ...where,
    prompt: `${word}: do it, please.`,
    scene: scene(word, reply(attempt(intent)), reply(say("That was it."))),
    prepare,
    happened,
  };
}

/** What is to be done, what that needs, and the trace it leaves. */
type Deed = Pick<GateProbe, "happened"> & Partial<Pick<GateProbe, "prepare">> & { readonly intent: Intent };

const DEEDS: Readonly<Record<ProbeName, (ground: ProbeGround, mark: string) => Deed>> = {
  write: ({ workspace }, mark) => {
    const path = canaryIn(workspace, mark);
    return { intent: writing(path, "canary\n"), happened: () => existsSync(path) };
  },
  command: ({ workspace }, mark) => {
    const path = canaryIn(workspace, mark);
    return { intent: runCommand(`echo canary > '${path}'`), happened: () => existsSync(path) };
  },
  look: ({ workspace, secret }, mark) => {
    const folder = join(workspace, mark);
    return {
      intent: lookAround(`ls '${folder}'`),
      prepare: async () => {
        await mkdir(folder);
        await writeFile(join(folder, secret), "");
      },
      // Agents tell the model the names of files unasked; what a command showed comes back from a tool.
      happened: (requests) =>
        requests.some(({ conversation }) =>
          conversation.items.some((item) => item.role === "tool" && item.text.includes(secret)),
        ),
    };
  },
  read: ({ workspace, secret }, mark) => reading(canaryIn(workspace, mark), secret),
  outside: ({ outside, secret }, mark) => reading(canaryIn(outside, mark), secret),
  fetch: ({ site }, mark) => ({
    intent: fetchPage(site.addressOf(mark)),
    happened: () => site.wasVisited(mark),
  }),
};

function canaryIn(folder: string, mark: string): string {
  return join(folder, `canary-${mark}.txt`);
}

function reading(path: string, secret: string): Deed {
  return {
    intent: readFile(path),
    prepare: () => writeFile(path, `${secret}\n`),
    happened: (requests) =>
      requests.some(({ conversation }) => JSON.stringify(conversation).includes(secret)),
  };
}
