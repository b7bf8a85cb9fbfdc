import { expect, test } from "vitest";
import { detectSandbox, isolationArguments } from "./confine.ts";

const isolated = (version: string, network = false, nested = false) =>
  isolationArguments({ version }, { network, nested });

test("isolates namespaces, drops privileges and dies with the parent", () => {
  expect(isolated("0.8.0")).toEqual(
    expect.arrayContaining([
      "--unshare-user",
      "--unshare-pid",
      "--unshare-net",
      "--disable-userns",
      "--die-with-parent",
    ]),
  );
  expect(isolated("0.8.0").join(" ")).toContain("--cap-drop ALL");
});

test("shares an open network, and allows nested sandboxes where asked for or where they cannot be forbidden", () => {
  expect(isolated("0.8.0", true)).not.toContain("--unshare-net");
  expect(isolated("0.11.0", false, true)).not.toContain("--disable-userns");
  expect(isolated("0.4.1")).not.toContain("--disable-userns");
  expect(isolated("1.0")).toContain("--disable-userns");
});

test("reports a missing bubblewrap with the reason", async () => {
  expect(await detectSandbox("/nonexistent/bwrap")).toMatchObject({
    available: false,
    reason: expect.stringContaining(process.platform === "linux" ? "/nonexistent/bwrap" : process.platform),
    remedy: expect.stringMatching(/./),
  });
});
