import type { Torture } from "../../../scripts/torture/torture.ts";
import type { Network } from "../src/sandbox/confine.ts";
import { obtainSandbox } from "../test/bubblewrap.ts";
import { attemptEscapes } from "./escapes/attempt-escapes.ts";

const NETWORKS: readonly Network[] = ["off", { hosts: ["allowed.test", "*.allowed.test"] }];
const ROUNDS = { small: 20, full: 2_000 };

const torture: Torture = {
  name: "sandbox-escapes",
  title: "a confined program tries every way out, and gets nothing",
  async run({ scale, log }) {
    const sandbox = await obtainSandbox();
    if (!sandbox.available) return log(`NO ESCAPE WAS TRIED: ${sandbox.reason} ${sandbox.remedy}`);
    for (const network of NETWORKS) {
      const { attempts, escapes } = await attemptEscapes({ sandbox, network, rounds: ROUNDS[scale] });
      if (escapes.length > 0)
        throw new Error(`escaped, network ${JSON.stringify(network)}: ${escapes.join("; ")}`);
      const untried = attempts.filter((one) => one.untried !== undefined);
      log(
        `network ${JSON.stringify(network)}: ${attempts.length} attempts, no escape, ${untried.length} not tried`,
      );
    }
  },
};

export default torture;
