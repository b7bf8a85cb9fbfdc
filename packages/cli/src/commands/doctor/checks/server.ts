import { createServer } from "node:net";
import { accessOperations } from "@reins/api";
import { Operator } from "../../../client/api-client.ts";
import { HttpCarrier } from "../../../client/transport.ts";
import { readConfiguration } from "../../../configuration/configuration.ts";
import { errorMessage, systemCode } from "../../../errors.ts";
import { operatorSocketIn } from "../../../home.ts";
import { DEFAULT_PORT, readPort } from "../../../serving/address.ts";
import { isServed } from "../../../serving/socket.ts";
import { type Check, type Finding, fine, wrong } from "../finding.ts";

/** Whether a Reins runs and answers, or could be started. */
export const serverCheck: Check = {
  name: "server",
  look: async ({ home, environment }) => {
    const socket = operatorSocketIn(home);
    if (await isServed(socket)) return [await health(socket)];
    const file = await readConfiguration(home);
    const host = environment.REINS_HOST || file.host || "127.0.0.1";
    const port = environment.REINS_PORT ? readPort(environment.REINS_PORT, "REINS_PORT") : file.port;
    return [await portFinding(host, port ?? DEFAULT_PORT)];
  },
};

async function health(socket: string): Promise<Omit<Finding, "check">> {
  try {
    const operator = new Operator(new HttpCarrier({ socket }));
    const { status, version } = await operator.ask(accessOperations.getHealth);
    if (status !== "failed") return fine(`Reins ${version} runs on this home`);
    return wrong(
      "Reins runs, but cannot open its home, so nothing is allowed",
      "Its log says why; stop it, and reins doctor looks at the database too.",
    );
  } catch (error) {
    return wrong(
      `Reins runs and does not answer: ${errorMessage(error)}`,
      "If it hangs, end its agents with reins kill --all, then start it anew.",
    );
  }
}

/** Whether somebody could listen there. */
export async function portFinding(host: string, port: number): Promise<Omit<Finding, "check">> {
  const server = createServer();
  const { promise, resolve } = Promise.withResolvers<Error | undefined>();
  server.once("error", resolve).listen(port, host, () => resolve(undefined));
  const fault = await promise;
  await new Promise((closed) => server.close(closed));
  if (!fault) return fine(`no Reins runs; port ${port} on ${host} is free`);
  if (systemCode(fault) === "EADDRINUSE")
    return wrong(
      `another program has port ${port} on ${host}`,
      `Stop it, or choose another: reins up --port ${port + 1}`,
    );
  return wrong(
    `nobody can listen on ${host}:${port}: ${fault.message}`,
    "Choose another with --host and --port.",
  );
}
