import { MODEL_API_NAMES } from "@reins/agents";
import { command, group } from "../../command.ts";
import { addCommand, programPath, removeCommand as removeAdded } from "../../configuration/agents-file.ts";
import { CliError } from "../../errors.ts";
import { openHome } from "../../home.ts";
import { agentError } from "../../hosting/agent-error.ts";
import { addGoverned } from "../../hosting/governed-install.ts";
import { HomeAgents } from "../../hosting/home-agents.ts";
import { AGENT, AGENT_CODES, AGENT_FLAGS, openAgent } from "./home-agent.ts";
import { installCommand, updateCommand } from "./install.ts";
import { listCommand, showCommand } from "./list.ts";
import { probeCommand } from "./probe.ts";
import { verifyCommand } from "./verify.ts";

const removeCommand = command({
  summary: "remove every installed version of an agent, and one that was added",
  description:
    "Removes what was installed of an agent, with what was verified of it, and what reins agents add added.",
  inputs: { agent: AGENT, ...AGENT_FLAGS },
  note: "Sessions and credentials stay; they are not part of the install.",
  examples: ["reins agents remove codex"],
  codes: AGENT_CODES,
  async run({ agent, home }) {
    const { agents, entry } = await openAgent(home, agent);
    const installed = await agents.installer.remove(agent);
    const removed = (await removeAdded(home, agent)) || installed;
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
    await addGoverned(home, { agent: name, source: "command", command }, () =>
      addCommand(home, name, { command, modelApi }),
    ).catch((error: unknown) => {
      throw agentError(error, name);
    });
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
