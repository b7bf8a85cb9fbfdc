import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { HaakClient } from "./support/haak-client.ts";
import { OperatedHome } from "./support/operated-home.ts";
import { runReins } from "./support/reins.ts";

describe("reins mailbox", () => {
  it("sends, lists and shows messages while nothing runs, and while Reins does", async () => {
    const home = await OperatedHome.begun();
    expect(await home.done("mailbox", "send", "reed", "rain", "tonight", "--subject", "weather")).toBe(
      "sent to reed, for its next turn\n",
    );
    await home.up();
    await home.done("mailbox", "send", "reed", "and wind");
    const { messages } = await home.json("mailbox", "list", "--unread", "reed");
    expect(messages).toMatchObject([
      { to: ["reed"], subject: "weather", body: "rain tonight" },
      { to: ["reed"], subject: "", body: "and wind" },
    ]);
    const listed = await home.done("mailbox", "list", "--limit", "5");
    expect(listed).toMatch(/^id +time +from +to +subject\n/);
    expect(listed).toContain("and wind");
    const shown = await home.done("mailbox", "read", messages[0].id.slice(0, 8));
    expect(shown).toMatch(/subject +weather\n\nrain tonight\n$/);
    expect((await home.json("mailbox", "list", "--unread", "reed")).messages).toHaveLength(2);
    expect(await home.run("mailbox", "read", "ffff0000")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("reins mailbox list"),
    });
  });

  it("says what is wrong with lines and with what was asked", async () => {
    const home = await OperatedHome.begun();
    await appendFile(join(home.path, "agent-mailbox.jsonl"), "no message\n");
    expect((await home.run("mailbox", "list")).stderr).toContain(
      "agent-mailbox.jsonl: a line that is no message",
    );
    expect((await home.run("mailbox", "list", "--limit", "none")).code).toBe(2);
    expect(await runReins(["mailbox", "send", "reed", "-"], home.environment)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("There is nothing in the message."),
    });
  });
});

describe("reins board", () => {
  it("has what people post, each under their name", async () => {
    const home = await OperatedHome.begun();
    expect(await runReins(["board", "post", "-"], home.environment, "the mill is closed\n")).toMatchObject({
      code: 0,
      stdout: "posted\n",
    });
    await home.up();
    await home.done("board", "post", "and", "open", "again");
    const shown = await home.done("board", "show");
    expect(shown).toMatch(/^\[.+\] the mill is closed \(.+\)\n\[.+\] and open again \(.+\)\n$/);
    expect((await home.json("board", "show", "--lines", "1")).lines).toEqual([
      expect.stringContaining("and open again"),
    ]);
  });

  it("is where an agent that nobody knows asks to be known, and only a person can do that", async () => {
    const home = new OperatedHome();
    const reins = await home.up();
    const address = reins.addressOf("websocket").replace(/ahp$/, "ws");
    const client = await HaakClient.connect(`${address}?token=${await home.startToken()}`);
    const trust = async () => (await client.init({ agent_id: "fern", session_key: "fern:x:1" })).trust;
    expect(await trust()).toBe("unknown");
    const { events } = await client.turn("fern:x:1", 'post "please register fern" on the board');
    expect(events).toContainEqual(expect.objectContaining({ tool: "post_board", verdict: "allowed" }));
    expect(await home.done("board", "show")).toContain("[fern] please register fern");
    expect(await trust()).toBe("unknown");
    await home.done("roster", "add", "fern");
    expect(await trust()).toBe("registered");
  });
});

describe("reins memory", () => {
  it("keeps, finds, lists and forgets facts that sessions recall too", async () => {
    const home = await OperatedHome.begun();
    expect(await home.done("memory", "add", "releases are cut on Thursdays")).toMatch(
      /^known now, as \w{8}\n$/,
    );
    await home.up();
    const project = ["--workspace", home.workspace];
    const fact = await home.json("memory", "add", "tests need a database", ...project, "--confidence", "0.5");
    expect(fact).toMatchObject({
      workspace: home.workspace,
      confidence: 0.5,
      source: expect.stringMatching(/^user:/),
    });
    const found = await home.json("memory", "search", "when is the release cut");
    expect(found.facts).toMatchObject([{ content: "releases are cut on Thursdays" }]);
    expect((await home.json("memory", "search", "database", "--workspace", "/elsewhere")).facts).toEqual([]);
    const listed = await home.done("memory", "list");
    expect(listed.split("\n").slice(1, -1)).toEqual([
      expect.stringContaining("tests need a database"),
      expect.stringContaining("releases are cut on Thursdays"),
    ]);
    expect(await home.done("memory", "forget", fact.id.slice(0, 8))).toBe(`forgotten  ${fact.id}\n`);
    expect(await home.run("memory", "forget", fact.id)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("reins memory list"),
    });
    expect((await home.run("memory", "add", "x", "--confidence", "2")).code).toBe(2);
  });
});
