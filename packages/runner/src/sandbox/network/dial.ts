import { type LookupAddress, lookup as systemLookup } from "node:dns";
import { once } from "node:events";
import { connect, isIP, type LookupFunction, type Socket } from "node:net";
import { scopeOf } from "./address-scope.ts";
import type { HostRule } from "./host-rules.ts";

/** Finds all addresses of a name, as `dns.lookup` does. */
export type FindAddresses = (
  host: string,
  done: (error: Error | null, addresses: readonly LookupAddress[]) => void,
) => void;

const CONNECT_MS = 15_000;

/** The addresses of a name, as this machine finds them. */
const findAddresses: FindAddresses = (host, done) =>
  systemLookup(host, { all: true }, (error, addresses) => done(error, addresses ?? []));

/**
 * Connects to a host that a rule lets through. Where its name leads is looked at too, or whoever holds the name could
 * lead us to ourselves: to this machine only if it was named as such, to a private network only if the host was.
 */
export async function dial(
  host: string,
  port: number,
  rule: HostRule,
  find: FindAddresses = findAddresses,
): Promise<Socket> {
  const named = rule.kind === "exact" && (isIP(host) !== 0 || host === "localhost");
  const reachable = (address: string) => {
    const scope = scopeOf(address);
    return named || scope === "public" || (scope === "private" && rule.kind === "exact");
  };
  if (isIP(host) !== 0 && !reachable(host))
    throw new Error(`${host} is an address of this machine or network`);
  const lookup: LookupFunction = (name, options, done) =>
    find(name, (error, found) => {
      if (error) return done(error, []);
      const addresses = found.filter(({ address }) => reachable(address));
      const [first] = addresses;
      if (first === undefined) return done(new Error(`${name} leads to this machine or network`), []);
      if (options.all) done(null, addresses);
      else done(null, first.address, first.family);
    });
  const socket = connect({ host, port, lookup, autoSelectFamily: true });
  const signal = AbortSignal.timeout(CONNECT_MS);
  try {
    await once(socket, "connect", { signal });
    return socket;
  } catch (error) {
    socket.destroy();
    throw signal.aborted ? new Error(`it did not answer within ${CONNECT_MS / 1_000} s`) : error;
  }
}
