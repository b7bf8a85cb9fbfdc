import { mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  type AgentLaunch,
  Catalogue,
  codexHooks,
  type HookInstall,
  hookAgent,
  installHooks,
  prepareTerminal,
  runInTerminal,
  settingsPath,
  type TerminalRun,
  terminalLaunch,
  trustLines,
} from "@reins/agents";
import {
  attempt,
  type Intent,
  reply,
  ScriptedModel,
  say,
  scene,
  scenes,
  testAgents,
} from "../../../agents/test/test-agents.ts";
import { OperatedHome } from "./operated-home.ts";
import { type Ended, folder, runReins } from "./reins.ts";

/** A user with a home and a workspace, who uses a real agent in a terminal, with a scripted model; and a home of Reins. */
export class TerminalRoom implements AsyncDisposable {
  readonly agent: string;
  readonly reins: OperatedHome;
  readonly user: string;
  readonly workspace: string;
  readonly model: ScriptedModel;
  readonly launch: AgentLaunch;

  private constructor(
    parts: Pick<TerminalRoom, "agent" | "reins" | "user" | "workspace" | "model" | "launch">,
  ) {
    this.agent = parts.agent;
    this.reins = parts.reins;
    this.user = parts.user;
    this.workspace = parts.workspace;
    this.model = parts.model;
    this.launch = parts.launch;
  }

  /** With a home of Reins of its own, unless one is given. */
  static async open(agent: string, reins = new OperatedHome()): Promise<TerminalRoom> {
    const catalogue = Catalogue.load();
    const { folder: install } = await testAgents().install(agent);
    const room = await mkdtemp(join(folder, "t"));
    const [user, workspace, temporary] = ["user", "work", "tmp"].map((name) => join(room, name)) as [
      string,
      string,
      string,
    ];
    for (const path of [user, workspace, temporary]) await mkdir(path);
    const model = await ScriptedModel.listen({ script: scenes(), wordings: catalogue.wordings });
    const launch = terminalLaunch({
      ...{ agent: hookAgent(agent), entry: catalogue.entry(agent), install, model: model.endpoint },
      ...{ userHome: user, temporary, environment: process.env, node: process.execPath },
    });
    await prepareTerminal(launch, user);
    const { settings } = hookAgent(agent).terminal;
    if (settings) {
      const path = settingsPath(hookAgent(agent), user, {});
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, JSON.stringify(settings));
    }
    return new TerminalRoom({ agent, reins, user, workspace, model, launch });
  }

  /** Runs a `reins` command as this user. */
  run(...args: string[]): Promise<Ended> {
    return runReins(args, { ...this.reins.environment, HOME: this.user });
  }

  /** Installs the hooks, as `reins hooks install` does. */
  async install({
    wait = 600,
    reads = "block",
  }: Partial<Pick<HookInstall, "wait" | "reads">> = {}): Promise<void> {
    const place = {
      agent: hookAgent(this.agent),
      home: this.reins.path,
      userHome: this.user,
      environment: {},
    };
    await installHooks({ ...place, node: process.execPath, wait, reads });
    await this.review();
  }

  /** Reviews the hooks in the agent, as its user does where it runs no others. */
  async review(): Promise<void> {
    if (!hookAgent(this.agent).needsReview) return;
    const { command, env } = this.launch;
    const hooks = await codexHooks(command, env, this.workspace);
    const path = join(this.user, ".codex", "config.toml");
    const [text = ""] = (await readFile(path, "utf8")).split("\n[hooks.state", 1);
    await writeFile(path, text + trustLines(hooks));
  }

  /** Runs the agent with a prompt. */
  prompt(text: string, signal?: AbortSignal): Promise<TerminalRun> {
    return runInTerminal(this.launch, text, this.workspace, signal);
  }

  /** Has the model attempt something, once, in a run of the agent. */
  async attempt(intent: Intent): Promise<TerminalRun> {
    this.model.play(scenes(scene("TRY", reply(attempt(intent)), reply(say("Tried.")))));
    return this.prompt("TRY it");
  }

  /** How many results of its calls the model was given in one conversation, at most. */
  get resultCount(): number {
    const counts = this.model.requests.map(
      ({ conversation }) => conversation.items.filter(({ role }) => role === "tool").length,
    );
    return Math.max(0, ...counts);
  }

  /** What the model was given as the results of its calls. */
  get results(): string {
    return JSON.stringify(
      this.model.requests.flatMap(({ conversation }) =>
        conversation.items.filter(({ role }) => role === "tool"),
      ),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.model.close();
  }
}
