import { BlockList, isIPv6 } from "node:net";

/** Where an address leads: to this machine or its cable, to a network of somebody's own, or out. */
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

/** Where an address leads. An IPv4 address written as IPv6 is taken for what it is. */
export function scopeOf(address: string): AddressScope {
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
