import { expect, it } from "vitest";
import type { Network } from "../src/sandbox/confine.ts";
import { describeConfined, sandbox } from "../test/with-sandbox.ts";
import { attemptEscapes } from "../torture/escapes/attempt-escapes.ts";

const ROUNDS = 20;
const NETWORKS: readonly Network[] = ["off", { hosts: ["allowed.test", "*.allowed.test"] }];

describeConfined("an agent that tries every way out of the sandbox", () => {
  it.each(NETWORKS)("gets nothing, network %j", async (network) => {
    const { attempts, escapes } = await attemptEscapes({ sandbox, network, rounds: ROUNDS });
    expect(escapes).toEqual([]);
    expect(attempts.length).toBeGreaterThan(30);
    for (const { name, untried } of attempts)
      if (untried !== undefined) console.error(`NOT TRIED: ${name}, because ${untried}`);
  });

  it("is allowed by the proxy where it is named", async () => {
    const network = { hosts: ["127.0.0.1:*"] };
    const { attempts } = await attemptEscapes({ sandbox, network, rounds: ROUNDS });
    const gained = attempts.filter((one) => one.gained !== undefined).map(({ name }) => name);
    expect(gained).toEqual(["talk the proxy into it"]);
  });

  it("succeeds with every attempt outside a sandbox, so that the test means something", async () => {
    const { attempts } = await attemptEscapes({ network: "open", rounds: ROUNDS });
    expect(attempts.filter(({ gained }) => gained === undefined)).toEqual([]);
    expect(attempts.length).toBeGreaterThan(15);
  });
});
