import { BlockList, isIPv6 } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import { CliError, EXIT, errorMessage, systemCode } from "../errors.ts";

/** The port that agents expect a harness on. */
export const DEFAULT_PORT = 18789;

const HIGHEST_PORT = 65_535;

/** A port as it was written in a flag or a variable; `source` says in which. */
export function readPort(text: string, source: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= HIGHEST_PORT) return port;
  throw new CliError(`${source} is "${text}", which is no port.`, {
    next: `Give a whole number from 0 to ${HIGHEST_PORT}; 0 takes any free port.`,
  });
}

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

const EVERYWHERE = ["0.0.0.0", "::"];

/**
 * The names a server that listens on `host` answers for, beside those the operator allows. Where it listens on every
 * address these are this machine's own; any other name could be a web page's that was pointed at this machine.
 */
export function hostNames(host: string): string[] {
  if (!EVERYWHERE.includes(host)) return [bracketed(host)];
  const addresses = Object.values(networkInterfaces()).flatMap((entries) => entries ?? []);
  return [hostname().toLowerCase(), ...addresses.map(({ address }) => bracketed(address))];
}

/** A host as it stands in a URL. */
function bracketed(host: string): string {
  return isIPv6(host) ? `[${host}]` : host.toLowerCase();
}

/** Why listening on a port failed, and what to do about it. */
export function listenError(error: unknown, host: string, port: number, command: string): CliError {
  const place = `${host}:${port}`;
  switch (systemCode(error)) {
    case "EADDRINUSE":
      return new CliError(`Port ${port} on ${host} is in use by another program.`, {
        next: `Stop that program, or choose another port: ${command} --port ${port + 1} (0 takes any free one).`,
        exitCode: EXIT.taken,
        cause: error,
      });
    case "EACCES":
      return new CliError(`This user may not listen on port ${port}.`, {
        next: `Ports below 1024 are for administrators; choose another: ${command} --port 18789`,
        cause: error,
      });
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return new CliError(`This machine has no address ${host}.`, {
        next: "Give --host an address of this machine: 127.0.0.1 for this machine only, 0.0.0.0 for all networks.",
        cause: error,
      });
    default:
      return new CliError(`Cannot listen on ${place}: ${errorMessage(error)}`, {
        next: "Choose another --host or --port.",
        exitCode: EXIT.failed,
        cause: error,
      });
  }
}
