import { AhpServer } from "@reins/ahp";
import type { Hosting } from "@reins/host";
import { type Access, agentDialects, Gateway, type GatewayOptions, hostDialects } from "@reins/server";
import type { Harness } from "@reins/supervisor";
import { version } from "../version.ts";

/**
 * A gateway for the operator of a home that is open in this process. No agent of AHP comes by this way; those of `hosting`
 * are to be had by it.
 */
export function operatorGateway(
  access: Access,
  harness: Harness,
  log: GatewayOptions["log"],
  hosting?: Hosting,
): Promise<Gateway> {
  const opened = async () => harness;
  const agents = hosting
    ? agentDialects({ harness: opened, hosting: async () => hosting, log, defaultAgent: "native" })
    : [];
  return Gateway.create({
    harness: opened,
    ahp: new AhpServer({ event: () => ({ decision: "block", reason: "no agent comes by this way" }) }),
    access,
    version: version(),
    log,
    dialects: [...hostDialects, ...agents],
  });
}
