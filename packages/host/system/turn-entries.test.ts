import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type JsonObject, membersOf } from "@reins/acp";
import { describe, expect, onTestFinished, test } from "vitest";
import { Hosting } from "../src/hosting/hosting.ts";
import { ConstitutionalPreparation } from "../src/turn/turn-context.ts";
import { TurnOffers } from "../src/turn/turn-offers.ts";
import { bash, govern } from "./fixtures/governed.ts";
import { openTestHome, type TestHome } from "./fixtures/home.ts";
import { TestClient } from "./fixtures/hub.ts";

const RULES = `
tool_rules:
  - { name: no_deleting, condition: { tool_name_matches: [delete_file] }, verdict: blocked, reason: keep it }
  - { name: rest, condition: {}, verdict: allowed }
`;

/** The recorded offers of tools, oldest first. */
const offersIn = async ({ entries }: TestHome) =>
  (await entries("policy_verdict"))
    .map(({ payload }) => membersOf(payload))
    .filter(({ event_type }) => event_type === "tool_offer");

/** Blocks another tool, as the operator accepts it. */
async function changePolicy({ home, harness }: TestHome): Promise<void> {
  await writeFile(join(home, "constitution.yaml"), RULES.replace("delete_file", "delete_file, deploy"));
  await harness.policies.refresh();
  await harness.policies.accept("default", "operator");
}

describe("a turn of a third-party agent", () => {
  test("with one tool call makes at most six entries", async () => {
    const governed = await govern({ home: await openTestHome({ rules: RULES }) });
    const id = await governed.begin();
    // Checkpoints and the first policies of the home are recorded by themselves.
    await governed.prompt(id, async () => undefined);
    await governed.entries("turn");
    const before = (await governed.ledger.read({ limit: 500 })).length;
    await governed.prompt(id, async ({ ask, update }) => {
      expect(await ask(bash("ls"))).toBe("allow_once");
      await update({ sessionUpdate: "tool_call_update", toolCallId: "call-1", status: "completed" });
      return undefined;
    });
    expect(await governed.entries("turn")).toHaveLength(2);
    const added = (await governed.ledger.read({ limit: 500 })).slice(before);
    const ofTurn = added.map(({ entry }) => entry.quality).filter((one) => one !== "policy_change");
    expect(ofTurn).toEqual(["policy_verdict", "policy_verdict", "tool_call", "tool_result", "turn"]);
  });

  test("records the tools that its client offers once for a session and policy, also across a restart", async () => {
    const home = await openTestHome({ rules: RULES });
    const open = async () => {
      const offers = new TurnOffers(home.harness);
      const preparation = new ConstitutionalPreparation({ harness: home.harness, offers });
      const governed = await govern({ home, preparation });
      const turn = async (sessionId: string, ...names: string[]) => {
        const tools = names.map((name) => ({ name, description: "", input_schema: {} }));
        const withdraw = offers.announce("t", { tools, call: async () => ({ text: "", isError: true }) });
        const prompt = [{ type: "text", text: "go on" }];
        await governed.call("session/prompt", { sessionId, prompt, _meta: { reins: { turn: "t" } } });
        withdraw();
      };
      return { ...governed, turn };
    };
    const first = await open();
    const id = await first.begin();
    for (let turn = 0; turn < 3; turn += 1) await first.turn(id, "deploy", "read_file");
    expect(await offersIn(home)).toMatchObject([
      {
        offered: [],
        withheld: [{ tool: "deploy", reason: "claude brings its own tools" }, { tool: "read_file" }],
      },
    ]);
    await first.governor.close("it restarts");
    const second = await open();
    await second.call("session/load", { sessionId: id, cwd: home.workspace, mcpServers: [] });
    await second.turn(id, "deploy", "read_file");
    expect(await offersIn(home)).toHaveLength(1);
    await second.turn(id, "deploy");
    await second.turn(id, "deploy");
    expect(await offersIn(home)).toHaveLength(2);
    await changePolicy(home);
    await second.turn(id, "deploy");
    expect(await offersIn(home)).toHaveLength(3);
  });

  test("records no offer where its client offers none", async () => {
    const home = await openTestHome({ rules: RULES });
    const offers = new TurnOffers(home.harness);
    const preparation = new ConstitutionalPreparation({ harness: home.harness, offers });
    const governed = await govern({ home, preparation });
    await governed.prompt(await governed.begin(), async () => undefined);
    expect(await offersIn(home)).toEqual([]);
  });
});

describe("a session of the native agent", () => {
  /** The native agent in a process of its own, as far as its home can see. */
  async function start({ harness }: TestHome) {
    const hosting = await Hosting.open({
      harness,
      install: async () => ({ version: "0", folder: harness.home }),
      environment: {},
    });
    let isOpen = true;
    const stop = async () => {
      if (isOpen) await hosting.close();
      isOpen = false;
    };
    onTestFinished(stop);
    const client = new TestClient();
    client.connection = await hosting.hub.connect({
      principal: harness.identity.local(),
      agent: "native",
      outlet: {
        send: (message, order) => void client.got.push({ message, order }),
        failed: (error) => {
          throw error;
        },
      },
    });
    const request = (method: string, params: JsonObject) => client.request(method, params);
    return { client, request, stop };
  }

  test("has its tools on record once for a policy, also across a restart", async () => {
    const home = await openTestHome({ rules: RULES });
    const { workspace: cwd } = home;
    const first = await start(home);
    const { sessionId } = await first.request("session/new", { cwd, mcpServers: [] });
    const id = String(sessionId);
    for (const text of ["hello", "what is in this folder?"]) await first.client.prompt(id, text);
    expect(await offersIn(home)).toHaveLength(1);
    await first.stop();
    const second = await start(home);
    await second.request("session/load", { sessionId: id, cwd, mcpServers: [] });
    await second.client.prompt(id, "hello");
    expect(await offersIn(home)).toHaveLength(1);
    await changePolicy(home);
    await second.client.prompt(id, "hello");
    await second.client.prompt(id, "hello");
    expect(await offersIn(home)).toHaveLength(2);
  });
});
