import { resolve } from "node:path";
import { chunkText, readResult, updateIn } from "@reins/acp";
import { stdioChannel } from "@reins/acp/stdio";
import { serveHost } from "@reins/bridge";
import { command, homeInput } from "../../command.ts";
import { openHome } from "../../home.ts";
import { openAgentChannel } from "../../hosting/agent-channel.ts";
import { ensureInstalled } from "../../hosting/install-agent.ts";
import { logLevel, openLog } from "../../log.ts";
import { printable } from "../../printable.ts";
import { folderHost } from "./folder-host.ts";

/** Tries the bridge: lends an agent what a folder holds. */
export const hostCommand = command({
  description:
    "Lends tools, skills and answers of a folder to an agent by the bridge, to try it: the tools and the answer in its\n" +
    "host.json, and the skills below skills. With a prompt, a session of an agent runs with it; without one, it\n" +
    "serves an agent on standard input and output.",
  inputs: {
    folder: ["<folder>", "what the host lends"],
    prompt: ["--prompt <text>", "prompt an agent that may use it"],
    agent: ["--agent <id>", "with --prompt: the agent; see reins agents list", { default: ["native"] }],
    cwd: ["--cwd <folder>", "with --prompt: where the agent works (default: here)"],
    home: homeInput("the home folder (default: reins in the user's data folder)"),
  },
  examples: ['reins host ./lab --prompt "deploy it" --agent claude', "reins host ./lab"],
  codes: { done: "done", failed: "failed", usage: "wrong usage", taken: "another process holds the home" },
  async run({ folder, prompt, agent, cwd = ".", home }, { verbose, notice }) {
    const offer = await folderHost(resolve(folder));
    if (prompt === undefined) {
      const channel = stdioChannel(process.stdin, process.stdout);
      serveHost(channel, offer);
      await channel.closed;
      return;
    }
    await openHome(home, notice);
    const log = await openLog(process.stderr, logLevel(verbose, { REINS_LOG: "warn", ...process.env }));
    await ensureInstalled(home, agent);
    const { channel, close } = await openAgentChannel(home, agent, log);
    try {
      const peer = serveHost(channel, offer, (method, params) => {
        if (method !== "session/update") return;
        const { kind, update } = updateIn(params);
        if (kind === "agent_message_chunk") process.stdout.write(printable(chunkText(update) ?? ""));
      });
      const clientCapabilities = { _meta: { reins: { bridge: true } } };
      await peer.request("initialize", { protocolVersion: 1, clientCapabilities });
      const begun = await peer.request("session/new", { cwd: resolve(cwd), mcpServers: [] });
      const { sessionId } = readResult("session/new", begun);
      await peer.request("session/prompt", { sessionId, prompt: [{ type: "text", text: prompt }] });
      process.stdout.write("\n");
    } finally {
      await close();
    }
  },
});
