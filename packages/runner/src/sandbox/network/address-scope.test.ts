import { expect, test } from "vitest";
import { scopeOf } from "./address-scope.ts";

test.each([
  [
    "local",
    [
      "127.0.0.1",
      "127.8.8.8",
      "0.0.0.0",
      "169.254.169.254",
      "::1",
      "::",
      "fe80::1",
      "::ffff:127.0.0.1",
      "224.0.0.1",
    ],
  ],
  [
    "private",
    ["10.1.2.3", "192.168.0.1", "172.31.0.1", "100.64.0.1", "fd00::1", "::ffff:10.0.0.1", "64:ff9b::7f00:1"],
  ],
  ["public", ["1.1.1.1", "172.32.0.1", "2606:4700::1111", "::ffff:1.1.1.1"]],
] as const)("%s", (scope, addresses) => {
  for (const address of addresses) expect([address, scopeOf(address)]).toEqual([address, scope]);
});
