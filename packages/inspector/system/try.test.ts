import { expect, test } from "vitest";
import { chromiumPath, launch, openTab } from "./fixtures/inspected-browser.ts";
import { InspectedServer } from "./fixtures/inspected-server.ts";
test("try", async () => {
  const server = await InspectedServer.start();
  const { path } = await chromiumPath();
  const browser = await launch(path!);
  const { page, faults } = await openTab(browser, await server.entrance("sessions"));
  try {
    await page.getByRole("button", { name: "Start a session" }).click();
    await page.getByLabel("Folder").fill(server.workspace);
    await page.screenshot({ path: "/tmp/shots/begin.png" });
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.getByLabel("Message").fill("what is in this folder");
    await page.keyboard.press("Enter");
    await page.getByText("There are").waitFor({ timeout: 10000 });
    await page.screenshot({ path: "/tmp/shots/first.png" });
    for (const text of ["read .env", "count to 200", "run `make`"]) {
      await page.getByLabel("Message").fill(text);
      await page.keyboard.press("Enter");
      await page.waitForTimeout(1500);
      await page.screenshot({ path: `/tmp/shots/${text.slice(0,5)}.png` });
    }
    await page.waitForTimeout(5000);
    await page.screenshot({ path: "/tmp/shots/make.png" });
    await page.goto(server.address + "/ui/approvals");
    await page.waitForTimeout(1000);
    await page.screenshot({ path: "/tmp/shots/approvals.png" });
    await page.keyboard.press("s");
    await page.screenshot({ path: "/tmp/shots/approvals-always.png" });
    await page.goto(server.address + "/ui/sessions");
    await page.waitForTimeout(1000);
    await page.screenshot({ path: "/tmp/shots/sessions.png" });
  } catch (e) { await page.screenshot({ path: "/tmp/shots/fail.png" }); throw e; }
  finally {
    console.log(faults);
    await browser.close();
    await server.close();
  }
  expect(1).toBe(1);
});
