import { setTimeout as wait } from "node:timers/promises";
import { stdioChannel } from "@reins/acp/stdio";
import { errorMessage } from "@reins/kit";
import { command, homeInput } from "../../command.ts";
import { CliError, EXIT } from "../../errors.ts";
import { openHome } from "../../home.ts";
import { type AgentChannel, openAgentChannel } from "../../hosting/agent-channel.ts";
import { ensureInstalled } from "../../hosting/install-agent.ts";
import { type Log, logLevel, openLog } from "../../log.ts";
import { ReconnectingChannel } from "./reconnecting-channel.ts";

/** A process that starts or stops holds the home without answering. */
const HELD_MS = 15_000;
const LOOK_MS = 250;

/** Speaks ACP on standard input and output for one client, until it closes them. */
export const acpCommand = command({
  description:
    "Speaks ACP on standard input and output, as the agent itself would; everything it does is decided and recorded.\n" +
    "Messages for people go to standard error.",
  inputs: {
    agent: ["--agent <id>", "the agent; see reins agents list", { default: ["native"] }],
    home: homeInput("the home folder (default: reins in the user's data folder)"),
  },
  note: `An editor starts it as it would start the agent itself; in Zed, for instance:
  "agent_servers": { "Claude, governed":
    { "command": "reins", "args": ["acp", "--agent", "claude"] } }`,
  examples: ["reins acp --agent claude", "reins acp --agent codex --home ./scratch"],
  codes: {
    done: "the editor closed it",
    failed: "failed",
    usage: "wrong usage",
    unreachable: "the server went away and did not come back",
    taken: "another process holds the home and does not answer",
  },
  async run({ agent, home }, { verbose, notice }) {
    await openHome(home, notice);
    const log = await openLog(process.stderr, logLevel(verbose, { REINS_LOG: "warn", ...process.env }));
    await ensureInstalled(home, agent);
    let onlyServed = false;
    const open = async () => {
      const opened = await openWhenFree(home, agent, log, onlyServed);
      onlyServed = opened.isServer;
      return opened;
    };
    await forward(await ReconnectingChannel.open({ open, log }), log);
  },
});

/** Forwards messages between standard input and output and the agents, until either side closes. */
async function forward(agents: ReconnectingChannel, log: Log): Promise<void> {
  try {
    const client = stdioChannel(process.stdin, process.stdout, (reason) => log.warn(reason));
    // A file that was read to its end stays open, unlike a pipe.
    process.stdin.once("end", () => process.stdin.destroy());
    agents.onMessage((message) => client.send(message));
    client.onMessage((message) => agents.send(message));
    const gone = await Promise.race([client.closed.then(() => undefined), agents.closed]);
    if (gone)
      throw new CliError(`Reins went away and did not come back: ${errorMessage(gone)}`, {
        next: "Start it again with reins up; sessions are stored and can be loaded.",
        exitCode: EXIT.unreachable,
      });
  } finally {
    // An open stdin keeps this process alive, and the client may wait for our end.
    process.stdin.destroy();
    await agents.close();
  }
}

/** Retries while another process that starts or stops holds the home. */
export async function openWhenFree(
  home: string,
  agent: string,
  log: Log,
  onlyServed: boolean,
): Promise<AgentChannel> {
  for (const until = Date.now() + HELD_MS; ; await wait(LOOK_MS)) {
    try {
      return await openAgentChannel(home, agent, log, { onlyServed });
    } catch (error) {
      const isHeld = error instanceof CliError && error.exitCode === EXIT.taken;
      if (!isHeld || Date.now() > until) throw error;
    }
  }
}
