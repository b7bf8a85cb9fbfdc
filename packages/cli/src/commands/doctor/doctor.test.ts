import { createServer } from "node:net";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { describeFindings } from "./doctor.ts";
import { homeCheck, keysCheck } from "./home.ts";
import { diskFinding, nodeFinding, portFinding } from "./machine.ts";

describe("reins doctor", () => {
  it("rejects an old version of Node", () => {
    expect(nodeFinding("24.1.0").state).toBe("fine");
    expect(nodeFinding("22.18.0").state).toBe("fine");
    expect(nodeFinding("22.9.0")).toMatchObject({ state: "wrong", mend: expect.stringContaining("22.18") });
  });

  it("distinguishes enough from too little disk space", () => {
    expect(diskFinding(50 * 1024 ** 3)).toMatchObject({ state: "fine", found: "50.0 GB are free" });
    expect(diskFinding(1024 ** 3).state).toBe("note");
    expect(diskFinding(1024 ** 2)).toMatchObject({ state: "wrong", found: expect.stringContaining("1 MB") });
  });

  it("checks whether the port is free", async () => {
    const taken = createServer().listen(0, "127.0.0.1");
    await new Promise((resolve) => taken.once("listening", resolve));
    const address = taken.address();
    const port = typeof address === "object" && address ? address.port : 0;
    expect(await portFinding("127.0.0.1", port)).toMatchObject({
      state: "wrong",
      mend: expect.stringContaining("--port"),
    });
    taken.close();
    expect((await portFinding("127.0.0.1", 0)).state).toBe("fine");
    expect((await portFinding("192.0.2.1", 0)).state).toBe("wrong");
  });

  it("rejects a file as a home, without advice to change it", async () => {
    const patient = { home: fileURLToPath(import.meta.url), environment: {}, userHome: "/" };
    const [home] = await homeCheck(patient);
    expect(home).toMatchObject({ state: "wrong", found: expect.stringContaining("is not a folder") });
    expect(home?.mend).not.toContain("chmod");
    expect(await keysCheck(patient)).toMatchObject([{ state: "note", found: "no keys yet" }]);
  });

  it("prints the remedy below each finding", () => {
    const text = describeFindings([
      { check: "node", state: "fine", found: "Node 24" },
      { check: "disk", state: "wrong", found: "no room\n  → at home", mend: "Make room." },
    ]);
    expect(text.split("\n")).toEqual([
      "ok     node  Node 24",
      "WRONG  disk  no room → at home",
      "             → Make room.",
      "",
      "1 problem to repair.",
      "",
    ]);
  });
});
