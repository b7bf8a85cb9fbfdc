// A harness over WebSocket: many requests on one connection, a slow one does not delay the others, and a harness that
// hangs or dies is a block.
//
//   node examples/websocket-harness.ts           serves, sends itself requests, and exits
//   node examples/websocket-harness.ts --serve   serves until Ctrl-C
import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { AhpClient, AhpServer, serveHttp } from "@reins/ahp";

const stay = process.argv.includes("--serve");
const slow = Promise.withResolvers<void>();

const server = new AhpServer(
  {
    async event({ payload }, { signal }) {
      if (payload === "slow") await slow.promise;
      // A handler that exceeds its deadline is a block; `signal` aborts it.
      if (payload === "hang") await sleep(60_000, undefined, { signal });
      return { decision: "allow", metadata: { payload } };
    },
  },
  { info: { name: "websocket-example" }, deadlineMs: 200 },
);

const served = await serveHttp(server, { port: stay ? 18789 : 0, protocols: ["websocket"] });
const url = served.address.replace(/^http/, "ws");
console.log(`serving ${stay ? url : "WebSocket"}`);

if (stay) process.once("SIGINT", () => void served.close());
else await ask();

async function ask(): Promise<void> {
  const agent = await AhpClient.connect({ type: "websocket", url }, { reconnect: false });
  await agent.handshake(["pre_action"]);

  const order: string[] = [];
  const first = agent.sendEvent("pre_action", "slow").then(() => order.push("slow"));
  await agent.sendEvent("pre_action", "quick").then(() => order.push("quick"));
  slow.resolve();
  await first;
  assert.deepEqual(order, ["quick", "slow"]);
  console.log("answers in the order they were ready:", order.join(", "));

  const late = await agent.sendEvent("pre_action", "hang");
  assert.equal(late.decision, "block");
  console.log("a handler that hangs:", late.decision, "-", late.reason);

  await served.close();
  const gone = await agent.sendEvent("pre_action", "after the end");
  assert.equal(gone.decision, "block");
  console.log("a harness that is gone:", gone.decision, "-", gone.reason);
  await agent.close();
}
