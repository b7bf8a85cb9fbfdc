import { spawn } from "node:child_process";
import { once } from "node:events";
import { isIPv6 } from "node:net";
import { hostname, networkInterfaces } from "node:os";
import { errorMessage, isLoopback } from "@reins/kit";
import { CliError, EXIT, systemCode } from "../errors.ts";

export const DEFAULT_PORT = 18789;

const HIGHEST_PORT = 65_535;

export function readPort(text: string, source: string): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= HIGHEST_PORT) return port;
  throw new CliError(`${source} is "${text}", which is not a port.`, {
    next: `Give a whole number from 0 to ${HIGHEST_PORT}; 0 takes any free port.`,
  });
}

/** Rejects a server for the network that requires no token. */
export function refuseOpenServer(host: string, tokens: readonly string[]): void {
  if (isLoopback(host) || tokens.length > 0) return;
  throw new CliError(`Refusing to listen on ${host} without a token: anyone who reaches it could use it.`, {
    next: "Set REINS_TOKEN or give --token <secret>, or listen on 127.0.0.1.",
  });
}

const EVERYWHERE = ["0.0.0.0", "::"];

/**
 * The names that a server on `host` answers to, beside those the operator allows. On all interfaces they are this
 * machine's own; another name could be a web page's that was pointed at it (DNS rebinding).
 */
export function hostNames(host: string): string[] {
  if (!EVERYWHERE.includes(host)) return [bracketed(host)];
  const addresses = Object.values(networkInterfaces()).flatMap((entries) => entries ?? []);
  return [hostname().toLowerCase(), ...addresses.map(({ address }) => bracketed(address))];
}

function bracketed(host: string): string {
  return isIPv6(host) ? `[${host}]` : host.toLowerCase();
}

/** Explains why listening on a port failed. */
export function listenError(error: unknown, host: string, port: number, command: string): CliError {
  const address = `${host}:${port}`;
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
      return new CliError(`Cannot listen on ${address}: ${errorMessage(error)}`, {
        next: "Choose another --host or --port.",
        exitCode: EXIT.failed,
        cause: error,
      });
  }
}

/** Undefined without a desktop. */
export function browserOpener(
  environment: NodeJS.ProcessEnv,
  platform: NodeJS.Platform = process.platform,
): string | undefined {
  if (environment.CI || environment.SSH_CONNECTION || environment.SSH_TTY) return undefined;
  if (platform === "darwin") return "open";
  const hasDisplay = environment.DISPLAY || environment.WAYLAND_DISPLAY;
  return platform === "linux" && hasDisplay ? "xdg-open" : undefined;
}

/** Returns whether the opener was started. */
export async function openInBrowser(address: string, environment: NodeJS.ProcessEnv): Promise<boolean> {
  const opener = browserOpener(environment);
  if (opener === undefined) return false;
  const child = spawn(opener, [address], { stdio: "ignore", detached: true });
  child.unref();
  // The opener is not installed.
  return once(child, "spawn").then(
    () => true,
    () => false,
  );
}

/** The address of the page beside an AHP address, with a login code. */
export function pageAddress(ahp: string, code?: string): string {
  const url = new URL("/ui/", ahp);
  if (EVERYWHERE.some((host) => bracketed(host) === url.hostname)) url.hostname = "127.0.0.1";
  // Browsers do not send the fragment.
  if (code !== undefined) url.hash = code;
  return url.href;
}
