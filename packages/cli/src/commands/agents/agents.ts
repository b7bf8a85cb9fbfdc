import { isObject, readResult } from "@reins/acp";
import {
  type AgentEntry,
  type Installed,
  type InstallOptions,
  type InstallProgress,
  MODEL_API_NAMES,
  type Probed,
  probeAgent,
} from "@reins/agents";
import { agentInstall, agentRemoval } from "@reins/host";
import { Redactor } from "@reins/supervisor";
import { command, group } from "../../command.ts";
import {
  addCommand,
  isAdded,
  programPath,
  removeCommand as removeAdded,
} from "../../configuration/agents-file.ts";
import { CliError, EXIT } from "../../errors.ts";
import { openHome } from "../../home.ts";
import { agentError } from "../../hosting/agent-error.ts";
import { changeAdded, installGoverned, removeGoverned } from "../../hosting/governed-install.ts";
import {
  AGENT,
  AGENT_CODES,
  AGENT_FLAGS,
  HomeAgents,
  openAgent,
  requireInstalled,
  SHA256,
} from "../../hosting/home-agents.ts";
import { catalogueEntry, InstallDisplay } from "../../hosting/install-agent.ts";
import { printableLine, table } from "../../output.ts";
import { withStopSignal } from "../../serving/stop.ts";
import { formatTime } from "../../time.ts";
import { listCommand, showCommand } from "./list.ts";
import { describeReport, verifyCommand, verifyInstalled } from "./verify.ts";

const installCommand = command({
  summary: "install an agent, and verify that it asks for permission",
  description: "Installs an agent into the home, then verifies that its gate is live.",
  inputs: {
    agent: AGENT,
    reinstall: ["--reinstall", "also when it is installed already"],
    modelApi: [
      "--model-api <api>",
      "how an agent of the registry asks its model,\nso that it can be verified",
      { choices: MODEL_API_NAMES },
    ],
    sha256: SHA256,
    agentVersion: ["--agent-version <version>", "another version of the agent itself"],
    agentProcessVersion: ["--agent-process-version <version>", "another version of the part that speaks ACP"],
    verify: ["--no-verify", "do not verify it"],
    ...AGENT_FLAGS,
  },
  note: `Installs into the home, in a folder per version: the version that the ACP
registry names, or where that is not known, the one that the catalogue pins.
What comes in is checked by its hashes, and refused if it is not what it was at
the first install of the same version. Install scripts are not run. An
installed agent is kept as it is (see reins agents update); an incomplete
install is never used. Rules decide on it as agents/install; a Reins that runs
on the home installs it, else this command.`,
  examples: [
    "reins agents install claude",
    "reins agents install codex --reinstall",
    "reins agents install claude --agent-process-version 0.98.0 --no-verify",
  ],
  codes: {
    done: "installed, and its gate is live",
    failed: "not installed, or installed and its gate is not live",
    usage: "wrong usage",
  },
  async run(given, { notice }) {
    const { agent, home, verify, reinstall, sha256, agentVersion, agentProcessVersion } = given;
    await openHome(home, notice);
    const modelApi = MODEL_API_NAMES.find((name) => name === given.modelApi);
    const options = { reinstall, modelApi, sha256, agentVersion, agentProcessVersion };
    return installAndVerify(await HomeAgents.open(home), agent, { home, verify, options });
  },
});

const updateCommand = command({
  summary: "install the version that is offered in place of an agent's, and verify it",
  description: "Updates an agent to the version that the registry or the catalogue has.",
  inputs: { agent: AGENT, sha256: SHA256, verify: ["--no-verify", "do not verify it"], ...AGENT_FLAGS },
  note: `Nothing is updated by itself: reins agents list shows what is offered. The new
version counts as observed until it is verified. An older version is refused.`,
  examples: ["reins agents update claude"],
  codes: {
    done: "up to date, and its gate is live",
    failed: "not updated, or its gate is not live",
    usage: "wrong usage",
  },
  async run({ agent, home, verify, sha256 }) {
    const { agents, entry } = await openAgent(home, agent);
    const installed = await requireInstalled(agents, entry);
    const registry = await agents.installer.registry({ refresh: true });
    if (agents.installer.updateOf(entry, installed, registry) === undefined) {
      const text = `${entry.name} ${installed.version} is the newest that is known.\n`;
      return { json: { agent, version: installed.version, updated: false }, text: () => text };
    }
    return installAndVerify(agents, agent, { home, verify, options: { update: true, sha256 } });
  },
});

interface InstallRun {
  readonly home: string;
  readonly verify: boolean;
  readonly options: InstallOptions;
}

async function installAndVerify(agents: HomeAgents, agent: string, { home, verify, options }: InstallRun) {
  const installed = await withStopSignal((signal) =>
    installShown(home, agents, agent, { ...options, signal }),
  );
  const entry = catalogueEntry(agents, agent);
  const verified = verify && entry.endpoint ? await verifyInstalled(agents, entry, installed) : undefined;
  const { version, provenance, folder } = installed;
  const source = provenance?.source ?? "local";
  const origin = provenance?.registry ? "registry" : provenance ? "fallback" : "local_path";
  const level = await agents.levelOf(entry, installed);
  const json = { agent, version, source, provenance: origin, level, ...(verified && { verified }) };
  const known = origin === "registry" ? `, from the registry ${provenance?.registry?.url}` : "";
  const unchecked =
    provenance?.artifact?.checked === false
      ? `Nothing said what its archive should be. From now on this version has to have the SHA-256\n  ${provenance.artifact.sha256}\n`
      : "";
  const then = verified
    ? `\n${describeReport(verified, entry.name)}`
    : `To verify that it asks for permission: reins agents verify ${agent}\n`;
  return {
    json,
    text: () =>
      `${entry.name} ${printableLine(version)} is installed in ${folder}${known}\n${unchecked}${then}`,
    exitCode: verified && !verified.live ? EXIT.failed : EXIT.done,
  };
}

/** Shows the progress on stderr. */
async function installShown(
  home: string,
  agents: HomeAgents,
  id: string,
  options: InstallOptions,
): Promise<Installed> {
  const display = new InstallDisplay(process.stderr, agents.catalogue.find(id)?.name ?? id);
  try {
    const onProgress = (progress: InstallProgress) => display.update(progress);
    return await installGoverned(home, agents, id, { ...options, onProgress });
  } catch (error) {
    throw agentError(error, id);
  } finally {
    display.clear();
  }
}

const PATIENCE_MS = 60_000;

const probeCommand = command({
  summary: "show the capabilities of an installed agent",
  description: "Starts an installed agent to read its capabilities.",
  inputs: { agent: AGENT, fresh: ["--fresh", "ignore the cached result"], ...AGENT_FLAGS },
  note: `The result is cached as long as version and settings are
the same.`,
  examples: [
    "reins agents probe claude",
    "reins agents probe codex --fresh --json | jq .initialized.agentCapabilities",
  ],
  codes: AGENT_CODES,
  async run({ agent, home, fresh }) {
    const { agents, entry } = await openAgent(home, agent);
    if (entry.builtIn)
      throw new CliError(`The agent ${agent} is part of Reins and cannot be probed separately.`, {
        next: "What it can do: reins run --help",
      });
    const installed = await requireInstalled(agents, entry);
    const known = fresh ? undefined : await agents.probes.find(entry, installed.version);
    const probed = known ?? (await ask(agents, entry, installed));
    return { json: probed, text: () => describeProbed(probed, entry.name) };
  },
});

async function ask(agents: HomeAgents, entry: AgentEntry, installed: Installed): Promise<Probed> {
  const { env: environment } = process;
  try {
    const probed = await withStopSignal((stopped) => {
      const signal = AbortSignal.any([stopped, AbortSignal.timeout(PATIENCE_MS)]);
      const redactor = Redactor.create();
      return probeAgent({ entry, installed, environment, redactor, now: () => new Date(), signal });
    });
    await agents.probes.keep(entry, probed);
    return probed;
  } catch (error) {
    throw agentError(error, entry.id, entry);
  }
}

function describeProbed({ version, probedAt, initialized, session, refused }: Probed, name: string): string {
  const { agentCapabilities, protocolVersion } = initialized;
  const { authMethods } = readResult("initialize", initialized);
  const { modes, configOptions } = readResult("session/new", session);
  const rows = [
    ["protocol", String(protocolVersion ?? "-")],
    ["can", capabilities(agentCapabilities).join(", ") || "-"],
    ["modes", named(modes.availableModes, modes.currentModeId)],
    ["options", named(configOptions)],
    ["logins", named(authMethods)],
    ...(refused ? [["session", `refused: ${refused.message} (${refused.code})`]] : []),
  ];
  const lines = rows.map(([what = "", text = ""]) => [what, printableLine(text)]);
  return `${name} ${printableLine(version)}, asked ${formatTime(probedAt)}\n${table(lines)}`;
}

/** The capabilities that are set, as dotted paths. */
function capabilities(value: unknown, path = ""): string[] {
  return Object.entries(isObject(value) ? value : {}).flatMap(([key, inner]) => {
    const name = path === "" ? key : `${path}.${key}`;
    if (key === "_meta" || inner === false || inner === null) return [];
    const deeper = capabilities(inner, name);
    return deeper.length > 0 ? deeper : [name];
  });
}

function named(list: readonly { readonly id?: string | undefined }[], current?: string): string {
  const names = list.map(({ id }) => String(id));
  return names.map((name) => (name === current ? `${name} (now)` : name)).join(", ") || "-";
}

const removeCommand = command({
  summary: "remove every installed version of an agent, and one that was added",
  description:
    "Removes what was installed of an agent, with what was verified of it, and what reins agents add added.",
  inputs: { agent: AGENT, ...AGENT_FLAGS },
  note: `Sessions and credentials stay; they are not part of the install. Rules decide on
it as agents/remove. What reins agents add added is removed while no Reins runs.`,
  examples: ["reins agents remove codex"],
  codes: AGENT_CODES,
  async run({ agent, home }) {
    const { agents, entry } = await openAgent(home, agent);
    const removeBoth = async () => {
      const installed = await agents.installer.remove(agent);
      return (await removeAdded(home, agent)) || installed;
    };
    const removing = (await isAdded(home, agent))
      ? changeAdded(home, agentRemoval(agent), removeBoth)
      : removeGoverned(home, agents, agent);
    const removed = await removing.catch((error: unknown) => {
      throw agentError(error, agent, entry);
    });
    const text = removed
      ? `removed  ${entry.name}\n`
      : `${entry.name} was not installed; nothing was removed\n`;
    return { json: { agent, removed }, text: () => text };
  },
});

const addAgentCommand = command({
  summary: "add any program that speaks ACP",
  description: "Adds an agent by its command to agents.yaml in the home.",
  inputs: {
    name: ["<name>", "the name to give it: small letters, digits and dashes"],
    command: ["<command...>", "the program and its arguments, after --"],
    modelApi: [
      "--model-api <api>",
      "how it asks its model, so that it can be verified",
      { choices: MODEL_API_NAMES },
    ],
    ...AGENT_FLAGS,
  },
  note: `Nothing is known of such an agent, so its actions count as observed. With
--model-api, reins agents verify runs it with a built-in model, which it finds
by the usual variables (ANTHROPIC_BASE_URL, OPENAI_BASE_URL and so on); if it
asks before it acts, its level is asked from then on. Rules decide on it as
agents/install. A running Reins reads the file only when it starts: stop it first.`,
  examples: [
    "reins agents add mine -- my-agent --acp",
    "reins agents add mine --model-api openai-chat -- ./my-agent --acp",
  ],
  codes: AGENT_CODES,
  async run({ name, command: words, modelApi, home }, { notice }) {
    await openHome(home, notice);
    const { catalogue } = await HomeAgents.open(home);
    if (catalogue.find(name))
      throw new CliError(`There is an agent "${name}" already.`, {
        next: "Take another name: reins agents list",
      });
    const [program = "", ...args] = words;
    const file = await programPath(program);
    if (file === undefined)
      throw new CliError(`There is no program ${program}.`, {
        next: "Name it by its path, or put it on PATH.",
      });
    const command = [file, ...args];
    const change = agentInstall({ agent: name, source: "command", command });
    await changeAdded(home, change, () => addCommand(home, name, { command, modelApi })).catch(
      (error: unknown) => {
        throw agentError(error, name);
      },
    );
    const then = modelApi
      ? `To verify that it asks for permission: reins agents verify ${name}\n`
      : "Its actions are observed only; with --model-api it can be verified.\n";
    const roster = `To let it do more than read: reins roster add ${name}\n`;
    return {
      json: { agent: name, command: [file, ...args], level: "observed" },
      text: () => `added  ${name}: ${[file, ...args].join(" ")}\n${then}${roster}`,
    };
  },
});

const DESCRIPTION =
  "The agents of the catalogue and of the ACP registry, and those that agents.yaml in the home adds. None of these " +
  "commands needs a running Reins.";

export const agentsCommand = group(DESCRIPTION, {
  list: listCommand,
  show: showCommand,
  install: installCommand,
  update: updateCommand,
  add: addAgentCommand,
  verify: verifyCommand,
  probe: probeCommand,
  remove: removeCommand,
});
