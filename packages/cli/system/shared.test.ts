import { appendFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { HaakClient } from "./support/haak-client.ts";
import { OperatedHome } from "./support/operated-home.ts";
import { runReins } from "./support/reins.ts";

/** A home in which a person left a message, a post and a fact while nothing ran. */
async function furnished(): Promise<OperatedHome> {
  const home = await OperatedHome.begun();
  expect(await home.done("mailbox", "send", "reed", "rain", "tonight", "--subject", "weather")).toBe(
    "sent to reed, for its next turn\n",
  );
  const posted = await runReins(["board", "post", "-"], home.environment, "the mill is closed\n");
  expect(posted).toMatchObject({ code: 0, stdout: "posted\n" });
  expect(await home.done("memory", "add", "releases are cut on Thursdays")).toMatch(/^added as \w{8}\n$/);
  return home;
}

describe("what agents share", () => {
  it("is written and read by people, while nothing runs and while Reins does", async () => {
    const home = await furnished();
    await home.up();
    const { messages } = await home.json("mailbox", "list", "--unread", "reed");
    expect(messages).toMatchObject([{ to: ["reed"], subject: "weather", body: "rain tonight" }]);
    expect((await home.json("mailbox", "list", "reed", "--unread")).messages).toEqual(messages);
    expect((await home.json("mailbox", "list", "reed")).messages).toEqual(messages);
    expect((await home.json("mailbox", "list", "fern")).messages).toEqual([]);
    expect(await home.done("mailbox", "read", messages[0].id.slice(0, 8))).toMatch(
      /subject +weather\n\nrain tonight\n$/,
    );
    await home.done("board", "post", "and", "open", "again");
    expect(await home.done("board", "show", "--lines", "2")).toMatch(
      /^\[.+\] the mill is closed \(.+\)\n\[.+\] and open again \(.+\)\n$/,
    );
    const place = ["--workspace", home.workspace, "--confidence", "0.5"];
    const fact = await home.json("memory", "add", "tests need a database", ...place);
    expect(fact).toMatchObject({
      workspace: home.workspace,
      confidence: 0.5,
      source: expect.stringMatching(/^user:/),
    });
    const { facts } = await home.json("memory", "search", "when is the release cut", "--workspace", "/srv");
    expect(facts).toMatchObject([{ content: "releases are cut on Thursdays" }]);
    expect(await home.done("memory", "forget", fact.id.slice(0, 8))).toBe(`forgotten  ${fact.id}\n`);
    const listed = await home.done("memory", "list");
    expect(listed).toMatch(/^id +said +source +workspace +fact\n.*releases are cut on Thursdays\n$/);
  });

  it("lets an unknown agent ask to be known, which only a person can grant", async () => {
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

  it("is asked for in a way that can be answered", async () => {
    const home = new OperatedHome();
    await home.up();
    await appendFile(join(home.path, "agent-mailbox.jsonl"), "no message\n");
    const { stdout, stderr } = await home.run("mailbox", "list");
    expect(stdout).toMatch(/^id +time +from +to +subject\n$/);
    expect(stderr).toContain("agent-mailbox.jsonl: a line that is no message");
    const refused = async (code: number, message: string, ...args: string[]) =>
      expect(await home.run(...args), args.join(" ")).toMatchObject({
        code,
        stderr: expect.stringContaining(message),
      });
    await refused(2, "--limit", "mailbox", "list", "--limit", "none");
    await refused(2, "--unread names no agent", "mailbox", "list", "--unread");
    await refused(2, "Two agents are named", "mailbox", "list", "reed", "--unread", "fern");
    await refused(1, "reins mailbox list", "mailbox", "read", "ffff0000");
    await refused(1, "reins memory list", "memory", "forget", "ffff0000");
    await refused(2, "--confidence", "memory", "add", "x", "--confidence", "2");
    expect(await runReins(["mailbox", "send", "reed", "-"], home.environment)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining("There is no text in the message."),
    });
  });
});
