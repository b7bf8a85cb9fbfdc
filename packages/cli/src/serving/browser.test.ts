import { describe, expect, it } from "vitest";
import { browserOpener } from "./browser.ts";

describe("the browser of a desktop", () => {
  it("is opened with the opener of the system", () => {
    expect(browserOpener({}, "darwin")).toBe("open");
    expect(browserOpener({ DISPLAY: ":0" }, "linux")).toBe("xdg-open");
    expect(browserOpener({ WAYLAND_DISPLAY: "wayland-0" }, "linux")).toBe("xdg-open");
  });

  it.each([
    ["there is no display", {}],
    ["the session is remote", { DISPLAY: ":0", SSH_CONNECTION: "10.0.0.1 5 10.0.0.2 22" }],
    ["it runs in CI", { DISPLAY: ":0", CI: "true" }],
  ])("is not opened where %s", (_, environment) => {
    expect(browserOpener(environment, "linux")).toBeUndefined();
  });
});
