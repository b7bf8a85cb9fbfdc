import { parseExact } from "@reins/kit";
import { connect, type ReinsClient, type ReinsClientOptions } from "@reins/sdk";
import { fetchOver } from "../client/api-client.ts";
import { type ClientFlags, noticeUnencrypted, resolveServer } from "../client/connect.ts";
import { openHome, operatorSocketIn } from "../home.ts";
import { openHeldHome } from "../hosting/agent-channel.ts";
import type { Log } from "../log.ts";
import type { Notice } from "../output.ts";
import { isServed, requireSocketPath } from "../serving/listen.ts";

/** A server is waited for as long as the terminal is open. */
const GIVE_UP_MS = 7 * 24 * 3_600_000;

/** A server as the terminal uses it: through the SDK, like any client. */
export interface OpenedClient {
  readonly reins: ReinsClient;
  /** Whether the agents run in this process, because no server runs. */
  readonly isOwn: boolean;
  /** Whether folders of the session are folders of this machine. */
  readonly isLocal: boolean;
  close(): Promise<void>;
}

/** Connects to a server: the one at `--url`, the one that runs on the home, else one in this process. */
export async function openClient(
  flags: ClientFlags,
  handlers: Pick<ReinsClientOptions, "onPermission" | "onElicitation" | "onState">,
  { log, notice }: { readonly log: Log; readonly notice: Notice },
): Promise<OpenedClient> {
  const options = { ...handlers, turns: true, giveUpMs: GIVE_UP_MS, parse: parseExact };
  const server = resolveServer(flags, process.env);
  if (server.url) {
    noticeUnencrypted(server, notice);
    const reins = await connect(server.url, { ...options, token: server.token, fetch: fetchOver({}) });
    return { reins, isOwn: false, isLocal: false, close: () => reins.close() };
  }
  const { home } = server;
  await openHome(home, notice);
  const socketPath = operatorSocketIn(home);
  requireSocketPath(socketPath);
  const held = (await isServed(socketPath)) ? undefined : await openHeldHome(home, log);
  try {
    await held?.served;
    const reins = await connect("http://localhost", { ...options, fetch: fetchOver({ socketPath }) });
    const close = async () => {
      await reins.close();
      await held?.close();
    };
    return { reins, isOwn: held !== undefined, isLocal: true, close };
  } catch (error) {
    await held?.close();
    throw error;
  }
}
