import { BlockList, isIPv6 } from "node:net";
import { CliError } from "../errors/cli-error.ts";

const loopback = new BlockList();
loopback.addSubnet("127.0.0.0", 8, "ipv4");
loopback.addAddress("::1", "ipv6");

/**
 * Whether only this machine can reach that host, also as it stands in a URL. A name other than `localhost` might mean
 * anything.
 */
export function isLoopback(host: string): boolean {
  if (host.toLowerCase() === "localhost") return true;
  const address = host.replace(/^\[(.*)\]$/, "$1");
  return loopback.check(address, isIPv6(address) ? "ipv6" : "ipv4");
}

/** Refuses to open a server to the network that asks nobody who they are. */
export function refuseOpenServer(host: string, tokens: readonly string[]): void {
  if (isLoopback(host) || tokens.length > 0) return;
  throw new CliError(`Refusing to listen on ${host} without a token: anyone who reaches it could use it.`, {
    next: "Set REINS_TOKEN or give --token <secret>, or listen on 127.0.0.1.",
  });
}
