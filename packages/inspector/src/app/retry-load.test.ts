import { expect, test } from "vitest";
import { retryLoad } from "./retry-load.ts";

/** A server that cannot be reached for so many attempts, and then has the part or not. */
function awayFor(attempts: number, has: boolean) {
  let tried = 0;
  let waited = 0;
  const load = async () => {
    tried += 1;
    if (tried > attempts && has) return "part";
    throw new TypeError("Failed to fetch dynamically imported module");
  };
  const ports = {
    isReachable: async () => tried > attempts,
    wait: async () => {
      waited += 1;
    },
  };
  return { part: retryLoad(load, ports), waits: () => waited };
}

test("a part is waited for while the server cannot be reached", async () => {
  const { part, waits } = awayFor(3, true);
  expect(await part()).toBe("part");
  expect(waits()).toBe(3);
});

test("a part that a server which answers does not have is told as missing", async () => {
  const { part } = awayFor(1, false);
  await expect(part()).rejects.toThrow("Failed to fetch dynamically imported module");
});
