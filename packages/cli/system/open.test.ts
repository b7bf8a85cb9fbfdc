import { describe, expect, it } from "vitest";
import { OperatedHome } from "./support/operated-home.ts";

describe("reins open", () => {
  it("prints an address that logs a browser in, once, as the caller", async () => {
    const home = new OperatedHome();
    await home.up();
    const { address } = JSON.parse(await home.done("open", "--json"));
    const { origin, pathname, hash } = new URL(address);
    expect(pathname).toBe("/ui/");
    const login = () =>
      fetch(`${origin}/v1/login`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({ code: hash.slice(1) }),
      });
    const first = await login();
    expect(first.status).toBe(200);
    expect((await login()).status).toBe(401);
    const cookie = (first.headers.get("set-cookie") ?? "").split(";")[0] ?? "";
    const self = await fetch(`${origin}/v1/whoami`, { headers: { cookie } });
    expect(await self.json()).toMatchObject({ user: "operator", tenant: "default", is_admin: true });
    expect((await fetch(`${origin}/v1/whoami`)).status).toBe(401);
  });

  it("prints a new address each time", async () => {
    const home = new OperatedHome();
    await home.up();
    const [one, other] = [await home.done("open", "--print"), await home.done("open", "--print")];
    expect(one).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/ui\/#[\w-]+\n$/);
    expect(other).not.toBe(one);
  });

  it("says what to do where no Reins listens", async () => {
    const home = await OperatedHome.begun();
    expect(await home.run("open")).toMatchObject({
      code: 3,
      stderr: expect.stringContaining("reins up"),
    });
  });
});
