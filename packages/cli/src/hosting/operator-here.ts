import type { Hosting } from "@reins/host";
import type { Harness } from "@reins/supervisor";
import { textOf } from "../errors/render.ts";
import { operatorSocketIn } from "../home.ts";
import type { Log } from "../log/logger.ts";
import { operatorGateway } from "../operator/operator-gateway.ts";
import { openAccess, serveOperator } from "../serving/gateway.ts";

/** A home that is open in this process, as its operator reaches it from elsewhere. */
export interface OperatorHere {
  close(): Promise<void>;
}

/**
 * Answers the operator of a home while this process holds it, so that questions can be answered from another terminal, and
 * another editor finds its agents here.
 * Where that cannot be, everything else goes on.
 */
export async function serveOperatorHere(
  home: string,
  { harness, hosting }: { readonly harness: Harness; readonly hosting: Hosting },
  log: Log,
): Promise<OperatorHere> {
  const taken = { message: `${home} is served by another process`, next: "" };
  try {
    const gateway = await operatorGateway(await openAccess({ home }), harness, log, hosting);
    const { served } = await serveOperator(gateway, operatorSocketIn(home), taken);
    return {
      close: async () => {
        await served.close();
        await gateway.close();
      },
    };
  } catch (error) {
    log.warn({ error: textOf(error) }, "questions can be answered here alone");
    return { close: async () => undefined };
  }
}
