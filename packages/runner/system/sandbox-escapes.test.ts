import { expect, it } from "vitest";
import type { Network } from "../src/sandbox/confine.ts";
import { describeConfined, sandbox } from "../test/with-sandbox.ts";
import { commitBurglary } from "../torture/escapes/burglary.ts";

const ROUNDS = 20;
const NETWORKS: readonly Network[] = ["off", { hosts: ["allowed.test", "*.allowed.test"] }];

describeConfined("an agent that tries every way out of the sandbox", () => {
  it.each(NETWORKS)("gets nothing, network %j", async (network) => {
    const { attempts, escapes } = await commitBurglary({ sandbox, network, rounds: ROUNDS });
    expect(escapes).toEqual([]);
    expect(attempts.length).toBeGreaterThan(30);
    for (const { name, untried } of attempts)
      if (untried !== undefined) console.error(`NOT TRIED: ${name}, because ${untried}`);
  });

  it("is allowed by the proxy where it is named", async () => {
    const network = { hosts: ["127.0.0.1:*"] };
    const { attempts } = await commitBurglary({ sandbox, network, rounds: ROUNDS });
    const loot = attempts.filter((one) => one.loot !== undefined).map(({ name }) => name);
    expect(loot).toEqual(["talk the proxy into it"]);
  });

  it("succeeds with every attempt outside a sandbox, so that the test means something", async () => {
    const { attempts } = await commitBurglary({ network: "open", rounds: ROUNDS });
    expect(attempts.filter(({ loot }) => loot === undefined)).toEqual([]);
    expect(attempts.length).toBeGreaterThan(15);
  });
});
