import {
  type AgentEntry,
  AgentError,
  type InstalledAgent,
  type InstallOptions,
  type InstallProgress,
} from "@reins/agents";
import { noticeOnStderr } from "../output.ts";
import { agentError } from "./agent-error.ts";
import { installGoverned } from "./governed-install.ts";
import { HomeAgents } from "./home-agents.ts";

/** Installs an agent if it is missing, with progress on the terminal. */
export async function ensureInstalled(home: string, agent: string, json?: boolean): Promise<AgentEntry> {
  const agents = await HomeAgents.open(home);
  const entry = catalogueEntry(agents, agent);
  if (entry.builtIn) return entry;
  const reporter = { notice: noticeOnStderr(json), screen: process.stderr };
  const install = (options: InstallOptions) => installGoverned(home, agents, agent, options);
  try {
    await installOnFirstUse(agents, entry, reporter, install);
    return entry;
  } catch (error) {
    throw agentError(error, agent);
  }
}

export function catalogueEntry({ catalogue }: HomeAgents, agent: string): AgentEntry {
  try {
    return catalogue.entry(agent);
  } catch (error) {
    throw agentError(error, agent);
  }
}

interface InstallReporter {
  readonly notice: (text: string) => void;
  readonly screen: InstallScreen;
}

/** Installs a missing agent by `run`, which has that decided, with a notice. */
export async function installOnFirstUse(
  { installer, requireInstalled }: Pick<HomeAgents, "installer" | "requireInstalled">,
  { id, name, install }: AgentEntry,
  { notice, screen }: InstallReporter,
  run: (options: InstallOptions) => Promise<InstalledAgent>,
): Promise<InstalledAgent> {
  const installed = await installer.installed(id);
  if (installed) return installed;
  if (requireInstalled && install)
    throw new AgentError(
      "agent_not_installed",
      `${name} is not installed, and require_installed in agents.yaml prevents an install on first use; run reins agents install ${id}`,
    );
  const size = install?.megabytes === undefined ? "" : ` (about ${install.megabytes} MB)`;
  if (install) notice(`${name} is not installed yet; installing it once${size}`);
  const display = new InstallDisplay(screen, name);
  try {
    const onProgress = (progress: InstallProgress) => display.update(progress);
    return await run({ onProgress });
  } finally {
    display.clear();
  }
}

interface InstallScreen {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

const BAR = 24;
/** Progress lines without a terminal. */
const PARTS = 4;

/** Shows the progress of an install: a bar on a terminal, a few lines elsewhere. */
export class InstallDisplay {
  readonly #screen: InstallScreen;
  readonly #name: string;
  #reported = 0;
  #hasBar = false;

  constructor(screen: InstallScreen, name: string) {
    this.#screen = screen;
    this.#name = name;
  }

  update(progress: InstallProgress): void {
    const { phase } = progress;
    if (phase === "installing") this.#packages(progress.done, progress.total);
    else if (phase === "waiting")
      this.#line(`another process (${progress.holder}) is installing ${this.#name}; waiting for it`);
    else if (phase === "verifying") this.#line(`${this.#name}: packages are installed; starting it once`);
    else this.#line(`${this.#name} ${progress.version} is installed`);
  }

  clear(): void {
    if (this.#hasBar) this.#screen.write("\r\u001b[K");
    this.#hasBar = false;
  }

  #packages(done: number, total: number): void {
    const share = total === 0 ? 0 : done / total;
    if (this.#screen.isTTY) {
      const filled = Math.round(share * BAR);
      const bar = `${"#".repeat(filled)}${"-".repeat(BAR - filled)}`;
      this.#screen.write(`\r\u001b[K${this.#name} [${bar}] ${done} of ${total} packages`);
      this.#hasBar = true;
      return;
    }
    const part = Math.floor(share * PARTS);
    if (done > 0 && part <= this.#reported) return;
    this.#reported = part;
    this.#line(`${this.#name}: ${done} of ${total} packages`);
  }

  #line(text: string): void {
    this.clear();
    this.#screen.write(`${text}\n`);
  }
}
