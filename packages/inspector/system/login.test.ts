import { selfOperations } from "@reins/api";
import type { Browser } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { requirement } from "../../../scripts/test/requirement.ts";
import { Issuer } from "../../server/system/fixtures/issuer.ts";
import { keepPicture } from "./fixtures/artefacts.ts";
import { barriersIn } from "./fixtures/axe.ts";
import { chromiumPath, launch, openTab } from "./fixtures/inspected-browser.ts";
import { InspectedServer } from "./fixtures/inspected-server.ts";

const found = await chromiumPath();

requirement(
  "Chromium",
  found.path !== undefined,
  found.path === undefined ? found.why : "",
)("the login with an OpenID issuer", () => {
  let issuer: Issuer;
  let server: InspectedServer;
  let browser: Browser;
  let endIssuer: (() => void) | undefined;
  beforeAll(async () => {
    issuer = await Issuer.open((end) => {
      endIssuer = end;
    });
    const settings = issuer.settings({ tenant: "default" });
    const files = { "reins.yaml": `oidc: ${JSON.stringify([settings])}\n` };
    [server, browser] = await Promise.all([InspectedServer.start({ files }), launch(found.path ?? "")]);
  });
  afterAll(async () => {
    await browser?.close();
    await server?.close();
    endIssuer?.();
  });

  test("leads to the issuer and back to the page, signed in as its user", async () => {
    issuer.claims = { sub: "ann", name: "Ann", realm_access: { roles: ["boss"] } };
    const { page, context, faults } = await openTab(browser, `${server.address}/ui/ledger`);
    const button = page.getByRole("button", { name: "Sign in with corp" });
    await button.waitFor();
    await keepPicture(page, "login-offered");
    expect(await barriersIn(page)).toEqual([]);
    // The first question, who this is, has no answer yet.
    expect(faults.every((fault) => fault.includes("401"))).toBe(true);
    faults.length = 0;
    const back = page.waitForRequest((request) => request.url().includes("/ui/?code="));
    await button.click();
    const answer = (await back).url();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await page.getByRole("navigation").first().waitFor();
    await keepPicture(page, "login-done");
    expect(faults).toEqual([]);
    expect(page.url()).not.toMatch(/code=|state=/);
    const self = selfOperations.getSelf.answer.parse(
      await page.evaluate("fetch('/v1/whoami').then((response) => response.json())"),
    );
    expect(self).toMatchObject({ user: "corp:ann", tenant: "default", is_admin: true });
    const [cookie] = await context.cookies();
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: "Strict" });
    expect(await page.evaluate("document.cookie")).toBe("");
    await page.reload();
    await page.getByRole("heading", { level: 1, name: "Overview" }).waitFor();
    await context.close();

    // The answer is of no use to a browser that did not begin the login.
    const other = await openTab(browser, answer);
    await other.page.getByRole("heading", { name: "This browser is not signed in" }).waitFor();
    expect(other.page.url()).not.toMatch(/code=|state=/);
    await keepPicture(other.page, "login-refused");
    await other.context.close();
  });
});
