import { engineConformance } from "@reins/graph/engine-conformance";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import { Engines } from "../test/engines.ts";
import { RestateServer, restateProgram } from "../test/restate-server.ts";

const withRestate = requirement(
  "Restate",
  restateProgram !== undefined,
  "npm has no Restate server for this machine",
);

withRestate("Restate", () => {
  let restate: RestateServer;
  beforeAll(async () => {
    restate = await RestateServer.start();
  });
  afterAll(() => restate?.stop());

  engineConformance("The engine on a Restate server", async () => {
    const engines = await Engines.make(restate);
    onTestFinished(() => engines.close());
    return {
      async open(orchestrate) {
        const engine = engines.open(orchestrate);
        await engine.resume();
        return engine;
      },
      kill: (engine) => engines.kill(Object(engine)),
    };
  });
});
