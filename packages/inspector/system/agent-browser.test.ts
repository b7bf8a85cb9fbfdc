import { expect, test } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import { AgentBrowser } from "./fixtures/agent-browser.ts";
import { chromiumPath } from "./fixtures/inspected-browser.ts";
import { InspectedServer } from "./fixtures/inspected-server.ts";

const found = await chromiumPath();

requirement(
  "Chromium",
  found.path !== undefined,
  found.path === undefined ? found.why : "",
)("the least that must work, driven by agent-browser", () => {
  test("opens the page, starts an agent, sends a prompt and sees the response", async () => {
    const server = await InspectedServer.start();
    const browser = await AgentBrowser.with(found.path ?? "");
    try {
      await browser.do("open", await server.entrance());
      await browser.do("wait", "nav a");
      await browser.do("find", "role", "link", "click", "--name", "Sessions");
      await browser.do("wait", "--text", "Start a session");
      await browser.do("find", "role", "button", "click", "--name", "Start a session");
      await browser.do("wait", "[role=dialog]");
      await browser.do("find", "label", "Folder", "fill", server.workspace);
      await browser.do("find", "label", "First message", "fill", "what is in this folder");
      await browser.do("click", "[role=dialog] button[type=submit]");
      await browser.do("wait", "--text", "There are");
      expect(await browser.do("get", "text", "section[aria-label=Conversation]")).toContain("README.md");
    } finally {
      await browser.close();
      await server.close();
    }
  });
});
