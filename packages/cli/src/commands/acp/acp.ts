import { serveChannel, stdioChannel } from "@reins/host";
import { homeFolder, openHome } from "../../home.ts";
import { OpenHosting } from "../../hosting/open-hosting.ts";
import { ledgerFault } from "../../ledger/fault.ts";
import { logLevel } from "../../log/level.ts";
import { openLog } from "../../log/logger.ts";

/** The flags of `reins acp` as they were written. */
export interface AcpFlags {
  readonly verbose?: boolean;
  readonly home?: string;
  readonly agent: string;
}

/** Serves one ACP client on standard input and output, until it closes them. */
export async function acp({ agent, home: flag, verbose }: AcpFlags): Promise<void> {
  const home = homeFolder(flag, process.env);
  await openHome(home);
  const log = await openLog(process.stderr, logLevel(verbose, { REINS_LOG: "warn", ...process.env }));
  const opened = await OpenHosting.open(home, log).catch((error: unknown) => {
    throw ledgerFault(error, home);
  });
  try {
    opened.hosting.catalogue.entry(agent);
    const channel = stdioChannel(process.stdin, process.stdout, (reason) => log.warn(reason));
    const principal = opened.harness.identity.local();
    await serveChannel(opened.hosting.hub, { channel, principal, agent });
  } finally {
    await opened.close();
  }
}
