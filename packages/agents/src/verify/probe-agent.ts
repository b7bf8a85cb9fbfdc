import { mkdir, mkdtemp, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AgentProcess, Owner, PrivateHome } from "@reins/runner";
import { ScriptedModel } from "@reins/scripted-model";
import type { AgentEntry } from "../agent-entry.ts";
import { launchOf } from "../agent-launch.ts";
import type { InstalledAgent } from "../install/installer.ts";
import { type Probed, probe } from "../probe.ts";
import { processChannel, type TextRedactor } from "../process-channel.ts";

/** Whom to ask what it can do. */
export interface ProbeAgentOptions {
  readonly entry: AgentEntry;
  readonly installed: InstalledAgent;
  /** Where PATH and language come from. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Applied to what the agent writes on stderr. */
  readonly redactor: TextRedactor;
  readonly now: () => Date;
  readonly signal: AbortSignal;
}

/**
 * Starts an agent just to hear what it can do: in a home that is thrown away, with no credentials, and with a model that
 * says nothing where the agent can be given one.
 */
export async function probeAgent(options: ProbeAgentOptions): Promise<Probed> {
  const base = await realpath(await mkdtemp(join(tmpdir(), "reins-probe-")));
  try {
    if (!options.entry.endpoint) return await probeIn(base, options);
    const script = () => ({ kind: "reply" as const, parts: [], stop: "end" as const });
    await using model = await ScriptedModel.listen({ script });
    return await probeIn(base, options, model);
  } finally {
    await rm(base, { recursive: true, force: true });
  }
}

async function probeIn(
  base: string,
  { entry, installed, environment, redactor, now, signal }: ProbeAgentOptions,
  model?: ScriptedModel,
): Promise<Probed> {
  const [folder, cwd] = [join(base, "home"), join(base, "workspace")];
  await mkdir(cwd);
  const launch = launchOf(entry, {
    folders: { home: join(folder, "home"), temporary: join(folder, "tmp") },
    install: installed.folder,
    environment,
    node: process.execPath,
    platform: `${process.platform}-${process.arch}`,
    ...(model && { model: model.endpoint }),
  });
  const files = Object.entries(launch.files).map(([path, text]) => ({ path, text }));
  const { home } = await PrivateHome.prepare({ folder, credentials: [], files });
  const owner = new Owner(base);
  const agent = await AgentProcess.start(
    { ...launch, cwd: home, label: entry.name },
    { owner, onFault: () => undefined },
  );
  try {
    const { version } = installed;
    return await probe({
      entry,
      version,
      launch,
      channel: processChannel(agent, redactor),
      cwd,
      now,
      signal,
    });
  } finally {
    await agent.stop();
  }
}
