// A harness over HTTP that requires a token, and an agent that sends one.
//
//   node examples/http-harness.ts           serves, sends itself requests, and exits
//   node examples/http-harness.ts --serve   serves until Ctrl-C
import assert from "node:assert/strict";
import { AhpClient, AhpServer, knownTokens, serveHttp } from "@reins/ahp";

const stay = process.argv.includes("--serve");
const noted: string[] = [];

const server = new AhpServer(
  {
    event: ({ event_type, payload }, { peer }) =>
      event_type === "pre_action"
        ? { decision: "modify", modified_payload: { ...Object(payload), approved_by: peer.principal } }
        : { decision: "allow" },
    notification: ({ event_type }) => void noted.push(event_type),
    query: ({ query_type }) => ({ answer: { asked: query_type }, reason: "an example" }),
  },
  { info: { name: "http-example", version: "1.0.0" } },
);

const served = await serveHttp(server, {
  port: stay ? 18789 : 0,
  path: "/ahp",
  authenticate: knownTokens([{ principal: "alice", secret: "correct-horse" }]),
});
console.log(`serving ${stay ? served.address : "HTTP"}`);

if (stay) process.once("SIGINT", () => void served.close());
else await ask();

async function ask(): Promise<void> {
  const agent = await AhpClient.connect({
    type: "http",
    url: served.address,
    auth: { method: { type: "bearer", token: "correct-horse" } },
  });
  const { harness_info } = await agent.handshake(["pre_action", "post_action", "query"]);
  assert.equal(harness_info.name, "http-example");

  const decision = await agent.sendEvent("pre_action", { tool_name: "bash" });
  assert.deepEqual(decision, {
    decision: "modify",
    modified_payload: { approved_by: "alice", tool_name: "bash" },
  });
  console.log("modified:", JSON.stringify(decision.modified_payload));

  await agent.sendNotification("post_action", { status: "ok" });
  assert.deepEqual(noted, ["post_action"]);

  const { answer } = await agent.query("weather", {});
  console.log("answered:", JSON.stringify(answer));

  // Without the token there is no decision, and without a decision nothing is allowed.
  const anonymous = await AhpClient.connect({ type: "http", url: served.address });
  await assert.rejects(anonymous.handshake([]), /401/);
  console.log("a request without a token was refused");

  await anonymous.close();
  await agent.close();
  await served.close();
}
