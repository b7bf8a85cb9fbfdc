import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Script, ScriptedModel, scenes } from "@reins/scripted-model";
import type { AgentEntry } from "../src/agent-entry.ts";
import { type AgentLaunch, launchOf } from "../src/agent-launch.ts";
import { Catalogue } from "../src/catalogue.ts";
import { AcpAgent } from "./acp-agent.ts";
import { testAgents } from "./test-agents.ts";

/** What a room is made with. */
export interface RoomOptions {
  readonly script?: Script;
}

/** A workspace, a private home and a scripted model for one real agent. Processes of it come and go; these stay. */
export class AgentRoom implements AsyncDisposable {
  readonly entry: AgentEntry;
  readonly version: string;
  readonly model: ScriptedModel;
  readonly launch: AgentLaunch;
  /** The folder that holds all others. */
  readonly folder: string;
  readonly workspace: string;
  readonly #started: AcpAgent[] = [];

  private constructor(parts: Pick<AgentRoom, "entry" | "version" | "model" | "launch" | "folder">) {
    this.entry = parts.entry;
    this.version = parts.version;
    this.model = parts.model;
    this.launch = parts.launch;
    this.folder = parts.folder;
    this.workspace = join(parts.folder, "workspace");
  }

  /** Installs the agent if need be, and makes everything ready for it. */
  static async open(agent: string, { script = scenes() }: RoomOptions = {}): Promise<AgentRoom> {
    const catalogue = Catalogue.load();
    const entry = catalogue.entry(agent);
    const { version, folder: install } = await testAgents().install(agent);
    const folder = await mkdtemp(join(tmpdir(), `reins-${agent}-`));
    for (const name of ["workspace", "home", "tmp"]) await mkdir(join(folder, name));
    const model = await ScriptedModel.listen({ script, wordings: catalogue.wordings });
    const launch = launchOf(entry, {
      folders: { home: join(folder, "home"), temporary: join(folder, "tmp") },
      install,
      model: model.endpoint,
      environment: process.env,
      node: process.execPath,
      platform: `${process.platform}-${process.arch}`,
    });
    return new AgentRoom({ entry, version, model, launch, folder });
  }

  /** Starts a process of the agent, away from the workspace. */
  async start(): Promise<AcpAgent> {
    const agent = await AcpAgent.start(this.launch, join(this.folder, "home"));
    this.#started.push(agent);
    return agent;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#started.map((agent) => agent.stop()));
    await this.model.close();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
