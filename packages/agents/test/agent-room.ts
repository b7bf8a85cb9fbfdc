import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { ScriptedModel, scenes } from "@reins/scripted-model";
import type { AgentEntry } from "../src/agent-entry.ts";
import { type AgentLaunch, launchOf } from "../src/agent-launch.ts";
import { Catalogue } from "../src/catalogue.ts";
import { testAgents } from "./test-agents.ts";

/** A workspace, a private home and a scripted model for one real agent. */
export class AgentRoom implements AsyncDisposable {
  readonly entry: AgentEntry;
  readonly version: string;
  readonly model: ScriptedModel;
  readonly launch: AgentLaunch;
  /** The folder that holds all others. */
  readonly folder: string;
  readonly workspace: string;

  private constructor(parts: Pick<AgentRoom, "entry" | "version" | "model" | "launch" | "folder">) {
    this.entry = parts.entry;
    this.version = parts.version;
    this.model = parts.model;
    this.launch = parts.launch;
    this.folder = parts.folder;
    this.workspace = join(parts.folder, "workspace");
  }

  /** Installs the agent if need be, and makes everything ready for it. */
  static async open(agent: string): Promise<AgentRoom> {
    const catalogue = Catalogue.load();
    const entry = catalogue.entry(agent);
    const { version, folder: install } = await testAgents().install(agent);
    const folder = await mkdtemp(join(tmpdir(), `reins-${agent}-`));
    for (const name of ["workspace", "home", "tmp"]) await mkdir(join(folder, name));
    const model = await ScriptedModel.listen({ script: scenes(), wordings: catalogue.wordings });
    const launch = launchOf(entry, {
      folders: { home: join(folder, "home"), temporary: join(folder, "tmp") },
      install,
      model: model.endpoint,
      environment: process.env,
      node: process.execPath,
      platform: `${process.platform}-${process.arch}`,
    });
    for (const [path, text] of Object.entries(launch.files)) {
      const file = join(folder, "home", path);
      await mkdir(dirname(file), { recursive: true });
      await writeFile(file, text);
    }
    return new AgentRoom({ entry, version, model, launch, folder });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.model.close();
    await rm(this.folder, { recursive: true, force: true, maxRetries: 5 });
  }
}
