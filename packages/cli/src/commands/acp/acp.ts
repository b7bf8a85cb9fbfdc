import { stdioChannel } from "@reins/host";
import { CliError } from "../../errors/cli-error.ts";
import { textOf } from "../../errors/render.ts";
import { EXIT } from "../../exit-codes.ts";
import { homeFolder, openHome } from "../../home.ts";
import { openAgentChannel } from "../../hosting/agent-channel.ts";
import { readyAgent } from "../../hosting/ready-agent.ts";
import { logLevel } from "../../log/level.ts";
import { openLog } from "../../log/logger.ts";
import { noticeOnStderr } from "../../notice.ts";

/** The flags of `reins acp` as they were written. */
export interface AcpFlags {
  readonly verbose?: boolean;
  readonly home?: string;
  readonly agent: string;
}

/** Speaks ACP on standard input and output for one client, until it closes them. */
export async function acp({ agent, home: flag, verbose }: AcpFlags): Promise<void> {
  const home = homeFolder(flag, process.env);
  await openHome(home, noticeOnStderr(false));
  const log = await openLog(process.stderr, logLevel(verbose, { REINS_LOG: "warn", ...process.env }));
  await readyAgent(home, agent);
  const agents = await openAgentChannel(home, agent, log);
  try {
    const client = stdioChannel(process.stdin, process.stdout, (reason) => log.warn(reason));
    // A file that was read to its end stays open, unlike a pipe.
    process.stdin.once("end", () => process.stdin.destroy());
    agents.channel.onMessage((message) => client.send(message));
    client.onMessage((message) => agents.channel.send(message));
    const gone = await Promise.race([client.closed.then(() => undefined), agents.channel.closed]);
    if (gone)
      throw new CliError(`Reins has gone in the middle of it: ${textOf(gone)}`, {
        next: "Start it again with reins up; sessions are kept and can be loaded.",
        exitCode: EXIT.unreachable,
      });
  } finally {
    // A client that waits for us keeps it open, and it would keep us.
    process.stdin.destroy();
    await agents.close();
  }
}
