import { isIPv6 } from "node:net";
import { hostname, networkInterfaces } from "node:os";

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
