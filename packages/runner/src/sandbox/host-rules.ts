import { lookup } from "node:dns";
import { BlockList, isIP, isIPv6, type LookupFunction } from "node:net";
import { SandboxError } from "../errors.ts";

/** Which hosts, and which of their ports, may be reached. */
export interface HostRule {
  /** A name or an address, or what a name has to end with. */
  readonly host: string;
  readonly kind: "exact" | "suffix" | "any";
  /** All, if there are none. */
  readonly ports?: readonly number[];
}

const USUAL_PORTS = [80, 443];
const RULE = /^(\*\.(?=.)|\*)?(\[[^\]]+\]|[^:*]*)(?::(\d{1,5}|\*))?$/;

/** Reads a rule: `api.example.com`, `*.example.com:8443`, `127.0.0.1:*`, `[::1]:8080`, `*`. */
export function parseHostRule(text: string): HostRule {
  const [match, star, name = "", port] = RULE.exec(text.trim()) ?? [];
  const host = name === "" ? "" : normalHost(name);
  const port16 = port === undefined || port === "*" || (Number(port) > 0 && Number(port) < 65_536);
  const sound = star === "*" ? name === "" : host !== undefined && host !== "" && !(star && isIP(host));
  if (match === undefined || !sound || !port16 || host === undefined)
    throw new SandboxError(
      "invalid_host",
      `"${text}" does not name hosts that an agent may reach.`,
      'Write a name ("api.example.com"), a suffix ("*.example.com"), an address or "*", with ":port" if need be.',
    );
  return {
    host,
    kind: star === "*" ? "any" : star ? "suffix" : "exact",
    ...(port !== "*" && { ports: port === undefined ? USUAL_PORTS : [Number(port)] }),
  };
}

/** Returns the rule that allows a host; an exact one first. */
export function ruleFor(host: string, port: number, rules: readonly HostRule[]): HostRule | undefined {
  const fitting = rules.filter((rule) => fits(host, rule) && (rule.ports?.includes(port) ?? true));
  return fitting.find(({ kind }) => kind === "exact") ?? fitting[0];
}

/** Normalizes a host: lower case, encoded, without a trailing dot; addresses in canonical form. */
export function normalHost(name: string): string | undefined {
  if (!/^[^\s/?#@\\]+$/.test(name)) return undefined;
  const url = URL.parse(`http://${name}/`);
  if (url === null || url.port !== "" || url.pathname !== "/") return undefined;
  return url.hostname.replace(/^\[|\]$/g, "").replace(/\.$/, "");
}

function fits(host: string, rule: HostRule): boolean {
  switch (rule.kind) {
    case "any":
      return true;
    case "exact":
      return host === rule.host;
    case "suffix":
      return host.endsWith(`.${rule.host}`) && isIP(host) === 0;
  }
}

/** The scope of an address: this machine or its link, a private network, or the internet. */
export type AddressScope = "local" | "private" | "public";

const LOCAL = blockList(
  ["0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "224.0.0.0/4", "240.0.0.0/4"],
  ["::/128", "::1/128", "fe80::/10", "ff00::/8"],
);
const PRIVATE = blockList(
  ["10.0.0.0/8", "100.64.0.0/10", "172.16.0.0/12", "192.0.0.0/24", "192.168.0.0/16", "198.18.0.0/15"],
  // The last two hold IPv4 addresses, of whichever kind.
  ["fc00::/7", "fec0::/10", "64:ff9b::/96", "2002::/16"],
);

/** Classifies an address. An IPv4 address written as IPv6 counts as IPv4. */
export function addressScope(address: string): AddressScope {
  const family = isIPv6(address) ? "ipv6" : "ipv4";
  if (LOCAL.check(address, family)) return "local";
  return PRIVATE.check(address, family) ? "private" : "public";
}

function blockList(ipv4: readonly string[], ipv6: readonly string[]): BlockList {
  const list = new BlockList();
  for (const [family, ranges] of [["ipv4", ipv4] as const, ["ipv6", ipv6] as const])
    for (const range of ranges) {
      const [net = "", prefix] = range.split("/");
      list.addSubnet(net, Number(prefix), family);
    }
  return list;
}

/** Resolves a name, and fails if any of its addresses is not on the internet. */
export const publicLookup: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, { ...options, all: true }, (error, addresses) => {
    const inside = addresses?.find(({ address }) => addressScope(address) !== "public");
    if (error) callback(error, "");
    else if (inside) callback(new Error(`${hostname} is not on the internet: ${inside.address}`), "");
    else if (options.all) callback(null, addresses);
    else callback(null, addresses[0]?.address ?? "", addresses[0]?.family ?? 4);
  });
};
