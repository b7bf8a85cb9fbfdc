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

test("retries loading while the server is unreachable", async () => {
  const { part, waits } = awayFor(3, true);
  expect(await part()).toBe("part");
  expect(waits()).toBe(3);
});

test("reports a missing part if the server responds", async () => {
  const { part } = awayFor(1, false);
  await expect(part()).rejects.toThrow("Failed to fetch dynamically imported module");
});
