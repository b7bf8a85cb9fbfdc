import { describe, expect, it } from "vitest";
import { detectIntent, type IntentName } from "./intent.ts";

describe("the intent of a prompt", () => {
  it.each<[string, IntentName]>([
    ["hello", "conversation"],
    ["thanks!", "conversation"],
    ["what can you do?", "conversation"],
    ["what is in this folder", "explore"],
    ["What's in here?", "explore"],
    ["list the files in src", "explore"],
    ["read README.md and summarise it", "read"],
    ["show me package.json", "read"],
    ["Could you please read src/index.ts?", "read"],
    ["where is the port configured?", "search"],
    ["find all usages of openSqlite", "search"],
    ["grep for TODO", "search"],
    ["write a file called notes.txt that says hello", "create"],
    ["add a function that parses dates", "create"],
    ["please implement the login page", "create"],
    ["rename getUser to findUser everywhere", "edit"],
    ["refactor the parser", "edit"],
    ["fix the failing build", "fix"],
    ["The app crashes on start, can you fix it?", "fix"],
    ["delete everything", "delete"],
    ["what do you remember about the port?", "remember"],
    ["remove old.log", "delete"],
    ["run the tests", "test"],
    ["do all the tests pass?", "test"],
    ["run `ls -la`", "run"],
    ["build the project", "run"],
    ["install the dependencies", "run"],
    ["review my changes", "review"],
    ["how should we design the cache? compare two options", "design"],
    ["explain how the ledger works", "explain"],
    ["why does the server listen on 18789?", "explain"],
    ["remember that the tests need a database", "remember"],
    ["check your mailbox", "message"],
    ["You have 2 unread mailbox message(s). Check your mailbox and act on any pending messages.", "message"],
    ["send a message to reed saying the build is green", "message"],
    ["what is on the board?", "board"],
    ["spawn a subagent to look into the logs", "delegate"],
    ["lorem ipsum dolor", "general"],
    ["", "general"],
  ])("%s: %s", (prompt, intent) => {
    expect(detectIntent(prompt).intent).toBe(intent);
  });

  it("has a higher confidence with more evidence and fewer rivals", () => {
    expect(detectIntent("run the tests").confidence).toBeGreaterThan(0.7);
    expect(detectIntent("lorem ipsum").confidence).toBeLessThan(0.3);
    const mixed = detectIntent("fix it or delete it or review it").confidence;
    expect(mixed).toBeLessThan(detectIntent("delete old.log").confidence);
  });

  it("is deterministic", () => {
    expect(detectIntent("fix src/a.ts")).toEqual(detectIntent("fix src/a.ts"));
  });

  it("is found at either end of a long prompt, in little time", () => {
    const long = `${"word ".repeat(500_000)}\nPlease run the tests.`;
    expect(detectIntent(long).intent).toBe("test");
  });
});

describe("the target of a prompt", () => {
  it.each([
    ["read README.md and summarise it", "file", "README.md"],
    ["read src/acp/channel.ts.", "file", "src/acp/channel.ts"],
    ["look at packages/host/", "folder", "packages/host/"],
    ["open ./docs/notes", "folder", "./docs/notes"],
    ["show .env", "file", ".env"],
    ["summarise CHANGELOG please", "file", "CHANGELOG"],
    ["explain `openSqlite()`", "symbol", "openSqlite()"],
    ['search for "no such table"', "text", "no such table"],
    ["fetch https://example.com/a/b.html.", "url", "https://example.com/a/b.html"],
    ["what is in this folder", "folder", "."],
  ])("%s: the %s %s", (prompt, target_type, target_name) => {
    expect(detectIntent(prompt).target).toMatchObject({ target_type, target_name });
  });

  it("is absent when the prompt names none", () => {
    expect(detectIntent("hello there").target.target_name).toBeUndefined();
    expect(detectIntent("do it, e.g. now").target.target_name).toBeUndefined();
  });

  it.each([
    ["find the vulnerability in the login", "security"],
    ["deploy the service", "operations"],
    ["plot the csv", "data_analysis"],
    ["fix the bug in the function", "coding"],
    ["proofread my essay", "writing"],
    ["hello", "conversation"],
    ["lorem ipsum", "general"],
  ])("%s belongs to %s", (prompt, domain) => {
    expect(detectIntent(prompt).target.domain).toBe(domain);
  });
});
