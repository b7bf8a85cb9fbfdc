import { AhpServer } from "@reins/ahp";
import { type Access, Gateway, type GatewayOptions, hostDialects } from "@reins/server";
import type { Harness } from "@reins/supervisor";
import { version } from "../version.ts";

/** A gateway for the operator of a home that is open in this process. No agent comes by this way. */
export function operatorGateway(
  access: Access,
  harness: Harness,
  log: GatewayOptions["log"],
): Promise<Gateway> {
  return Gateway.create({
    harness: async () => harness,
    ahp: new AhpServer({ event: () => ({ decision: "block", reason: "no agent comes by this way" }) }),
    access,
    version: version(),
    log,
    dialects: hostDialects,
  });
}
