import { existsSync } from "node:fs";
import { appendFile, copyFile, mkdir, mkdtemp, readFile, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ifExists } from "@reins/kit";
import {
  attempt,
  lookAround,
  reply,
  ScriptedModel,
  say,
  scene,
  scenes,
  writeFile as writing,
} from "@reins/scripted-model";
import type { AgentEntry } from "../agent-entry.ts";
import type { AgentLaunch } from "../agent-launch.ts";
import { Catalogue } from "../catalogue.ts";
import { codexHooks, trustLines } from "./effective-hooks.ts";
import { settingsPath } from "./hook-agents.ts";
import { type HookPlace, programIn } from "./hook-settings.ts";
import { prepareTerminal, runInTerminal, terminalLaunch } from "./terminal-launch.ts";

/** Decides what hooks ask over a socket, all in the same way, and counts the tool calls that were asked about. */
export interface ProbeHarness extends AsyncDisposable {
  readonly asked: number;
}

/** How hooks are proved. */
export interface HookProbeOptions extends HookPlace {
  readonly entry: AgentEntry;
  readonly node: string;
  /** The program of the agent, or the folder of its install. */
  readonly program?: string | undefined;
  readonly install?: string | undefined;
  readonly serve: (socket: string, answer: "allow" | "block") => Promise<ProbeHarness>;
  readonly onProgress?: ((where: string) => void) | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** One run of the agent with a model that runs a command and writes a file. */
interface HookProbeResult {
  /** `plain`, or what a hostile repository tries. */
  readonly setting: string;
  /** How Reins answers; `away` if it does not run. */
  readonly answer: "allow" | "block" | "away";
  readonly asked: number;
  readonly happened: readonly string[];
  /** Whether everything was asked about, and done only where that was allowed. */
  readonly held: boolean;
}

/** Whether hooks decide what the agent does: in an ordinary folder, and in hostile repositories. */
export interface HookReport {
  readonly live: boolean;
  /** The events whose hook no person has reviewed in an agent that runs no others. */
  readonly unreviewed: readonly string[];
  readonly hostile: boolean;
  readonly probes: readonly HookProbeResult[];
}

const PLAIN = "plain";

/**
 * Proves whether installed hooks are live: runs the agent's own program with the settings of the user, in a home of its
 * own, with a scripted model and a harness that blocks, allows or is away.
 */
export async function probeHooks(options: HookProbeOptions): Promise<HookReport> {
  const { agent } = options;
  const folder = await realpath(await mkdtemp(join(tmpdir(), "reins-hooks-")));
  const catalogue = Catalogue.load();
  const model = await ScriptedModel.listen({ script: scenes(), wordings: catalogue.wordings });
  try {
    const room = await prepare(options, folder, model);
    const probes: HookProbeResult[] = [];
    const rounds = [PLAIN, ...agent.hostile.map(({ name }) => name)].flatMap((setting) =>
      (["block", "allow", "away"] as const)
        .filter((answer) => setting === PLAIN || answer === "block")
        .map((answer) => ({ setting, answer })),
    );
    for (const round of rounds) {
      options.onProgress?.(`${round.setting}, ${round.answer}`);
      probes.push(await room.probe(round, String(probes.length)));
    }
    const held = (isPlain: boolean) =>
      probes.filter(({ setting }) => (setting === PLAIN) === isPlain).every((probe) => probe.held);
    return { live: held(true), unreviewed: room.unreviewed, hostile: held(false), probes };
  } finally {
    await model.close();
    await rm(folder, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function prepare(options: HookProbeOptions, folder: string, model: ScriptedModel) {
  const { agent, entry, home, userHome, environment, node, program, install, serve, signal } = options;
  const [own, user, temporary] = [join(folder, "r"), join(folder, "user"), join(folder, "tmp")];
  for (const path of [join(own, "hooks"), user, temporary]) await mkdir(path, { recursive: true });
  const launch = terminalLaunch({
    ...{ agent, entry, program, install, model: model.endpoint },
    ...{ userHome: user, temporary, environment: { PATH: environment.PATH }, node },
  });
  await prepareTerminal(launch, user);
  await ifExists(copyFile(programIn(home), programIn(own)));
  // The settings as they are, but for the harness that decides.
  const settings = await readFile(settingsPath(agent, userHome, environment), "utf8");
  const path = settingsPath(agent, user, {});
  await mkdir(dirname(path), { recursive: true });
  const unreviewed = agent.needsReview ? await unreviewedEvents(options, launch, path) : [];
  const moved = settings.replaceAll(inJson(home), inJson(own));
  const whole = () => JSON.stringify({ ...Object(JSON.parse(moved)), ...agent.terminal.settings });
  await writeFile(path, agent.plugin === undefined ? whole() : moved);
  if (agent.needsReview && unreviewed.length === 0) {
    const config = join(dirname(path), "config.toml");
    await appendFile(config, trustLines(await codexHooks(launch.command, launch.env, folder)));
  }
  const probe = async (
    { setting, answer }: Pick<HookProbeResult, "setting" | "answer">,
    name: string,
  ): Promise<HookProbeResult> => {
    const workspace = join(folder, name);
    await mkdir(workspace);
    const hostile = agent.hostile.find((each) => each.name === setting);
    for (const [file, content] of Object.entries(hostile?.files ?? {})) {
      const text = typeof content === "string" ? content : JSON.stringify(content);
      await mkdir(dirname(join(workspace, file)), { recursive: true });
      await writeFile(join(workspace, file), text);
    }
    const [ran, written] = [join(workspace, "ran.txt"), join(workspace, "written.txt")];
    const steps = [lookAround(`touch ${ran}`), writing(written, "x")].map((intent) => reply(attempt(intent)));
    model.play(scenes(scene("TRIAL", ...steps, reply(say("Done.")))));
    await using harness = answer === "away" ? undefined : await serve(join(own, "ahp.sock"), answer);
    await runInTerminal(launch, "TRIAL", workspace, signal);
    const happened = [ran, written].flatMap((file, one) =>
      existsSync(file) ? [one === 0 ? "command" : "write"] : [],
    );
    const asked = harness?.asked ?? 0;
    const expected = answer === "allow" ? steps.length : 0;
    const held = happened.length === expected && (answer === "away" || asked >= steps.length);
    return { setting, answer, asked, happened, held };
  };
  return { probe, unreviewed };
}

/**
 * The events whose hook no person has reviewed in the agent. It is asked about copies of the user's files, so that nothing
 * is written to the user's own; reviews are kept by the path of the file.
 */
async function unreviewedEvents(
  { agent, home, userHome, environment }: HookProbeOptions,
  { command, env }: AgentLaunch,
  path: string,
): Promise<readonly string[]> {
  const from = settingsPath(agent, userHome, environment);
  const config = (await ifExists(readFile(join(dirname(from), "config.toml"), "utf8"))) ?? "";
  const copy = join(dirname(path), "reviewed");
  await mkdir(copy, { recursive: true });
  await copyFile(from, join(copy, "hooks.json"));
  const reviews = reviewsIn(config).replaceAll(inJson(from), inJson(join(copy, "hooks.json")));
  await writeFile(join(copy, "config.toml"), reviews);
  const hooks = await codexHooks(command, { ...env, CODEX_HOME: copy }, copy);
  const ours = hooks.filter((hook) => hook.command?.includes(inShell(programIn(home))));
  return ours
    .filter(({ enabled, trustStatus }) => !enabled || trustStatus !== "trusted")
    .map(({ eventName }) => eventName);
}

/** The part of a configuration that says which hooks were reviewed or switched off, and whether hooks run at all. */
function reviewsIn(config: string): string {
  const tables = config.split(/^(?=\s*\[)/mu);
  const kept = tables.filter((table) => /^\s*\[\s*(?:hooks\b|features\b)/u.test(table));
  const [first = ""] = tables;
  const features = first.split("\n").filter((line) => /^\s*(?:features|hooks)\b/u.test(line));
  return [...features, ...kept].join("\n");
}

function inShell(path: string): string {
  return path.replaceAll("'", `'\\''`);
}

function inJson(text: string): string {
  return JSON.stringify(text).slice(1, -1);
}
