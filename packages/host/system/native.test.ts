import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { type JsonObject, membersOf } from "../src/acp/message.ts";
import { Hosting } from "../src/hosting/hosting.ts";
import { openTestHome, textIn } from "./fixtures/home.ts";
import { TestClient } from "./fixtures/hub.ts";

/** The native agent with the demo model, and a person who answers by kind. */
async function native(person: (params: JsonObject) => string = () => "reject_once") {
  const home = await openTestHome();
  const hosting = await Hosting.open({
    harness: home.harness,
    install: () => Promise.reject(new Error("nothing is installed")),
    environment: {},
  });
  onTestFinished(() => hosting.close());
  const client = new TestClient();
  client.connection = await hosting.hub.connect({
    principal: home.harness.identity.local(),
    agent: "native",
    outlet: {
      send: (message) => {
        client.got.push({ message, order: undefined });
        if (message.method !== "session/request_permission") return;
        const params = membersOf(message.params);
        const options = params.options as { optionId: string; kind: string }[];
        const option = options.find(({ kind }) => kind === person(params));
        setImmediate(() =>
          client.connection.answer(message.id as string, {
            outcome: option ? { outcome: "selected", optionId: option.optionId } : { outcome: "cancelled" },
          }),
        );
      },
      failed: (error) => {
        throw error;
      },
    },
  });
  const { sessionId } = await client.request("session/new", { cwd: home.workspace, mcpServers: [] });
  return { ...home, client, id: String(sessionId) };
}

const verdicts = async ({ entries }: Awaited<ReturnType<typeof native>>) =>
  (await entries("policy_verdict")).map(({ payload, target }) => {
    const { event_type, verdict, enforcement } = membersOf(payload);
    return [event_type, target, verdict, enforcement];
  });

describe("the native agent with no key", () => {
  test("looks around, which is allowed and performed by Reins", async () => {
    const agent = await native();
    await writeFile(join(agent.workspace, "README.md"), "# Heather\n");
    expect(await agent.client.prompt(agent.id, "what is in this folder?")).toMatchObject({
      stopReason: "end_turn",
    });
    expect(agent.client.said.join("")).toContain("README.md");
    const decided = await verdicts(agent);
    expect(decided).toContainEqual(["pre_action", "list_files", "allowed", "performed"]);
    expect(decided.filter(([type]) => type === "pre_prompt").length).toBeGreaterThanOrEqual(2);
    expect(agent.client.asked).toEqual([]);
  });

  test("is stopped where a person says no, and goes on where one says yes", async () => {
    const refused = await native();
    await refused.client.prompt(refused.id, "delete everything");
    expect(
      refused.client.asked.length +
        (await verdicts(refused)).filter(([, , verdict]) => verdict === "blocked").length,
    ).toBeGreaterThan(0);
    const written = await native(() => "allow_once");
    await written.client.prompt(written.id, "write a file named hello.txt");
    expect(await textIn(join(written.workspace, "hello.txt"))).toBeDefined();
  });
});
