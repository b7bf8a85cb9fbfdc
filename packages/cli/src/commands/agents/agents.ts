import { command, group } from "../../command.ts";
import { AGENT, AGENT_CODES, AGENT_FLAGS, openAgent } from "./home-agent.ts";
import { installCommand } from "./install.ts";
import { listCommand } from "./list.ts";
import { probeCommand } from "./probe.ts";
import { verifyCommand } from "./verify.ts";

const removeCommand = command({
  summary: "remove every installed version of an agent",
  description: "Removes what was installed of an agent, with what was verified of it.",
  inputs: { agent: AGENT, ...AGENT_FLAGS },
  note: "Sessions and credentials stay; they are not part of the install.",
  examples: ["reins agents remove codex"],
  codes: AGENT_CODES,
  async run({ agent, home }) {
    const { agents, entry } = await openAgent(home, agent);
    const removed = await agents.installer.remove(agent);
    const text = removed
      ? `removed  ${entry.name}\n`
      : `${entry.name} was not installed; nothing was removed\n`;
    return { json: { agent, removed }, text: () => text };
  },
});

const DESCRIPTION =
  "The agents of the catalogue, and those that agents.yaml in the home adds. None of these commands needs a running " +
  "Reins.";

export const agentsCommand = group(DESCRIPTION, {
  list: listCommand,
  install: installCommand,
  verify: verifyCommand,
  probe: probeCommand,
  remove: removeCommand,
});
