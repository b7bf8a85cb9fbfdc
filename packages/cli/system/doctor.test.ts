import { appendFile, chmod, copyFile, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { defaultFile } from "@reins/policy";
import { describe, expect, it } from "vitest";
import { OperatedHome } from "./support/operated-home.ts";

interface Found {
  readonly check: string;
  readonly state: string;
  readonly found: string;
  readonly mend?: string;
}

async function examined(home: OperatedHome) {
  const { code, stdout } = await home.run("doctor", "--json");
  const { well, findings }: { well: boolean; findings: Found[] } = JSON.parse(stdout);
  const of = (check: string) => findings.find((finding) => finding.check === check);
  return { code, well, of, findings };
}

describe("reins doctor", () => {
  it("finds a Reins that runs to be well, and looks at everything it needs", async () => {
    const home = new OperatedHome();
    const reins = await home.up();
    const { code, well, of, findings } = await examined(home);
    expect([code, well]).toEqual([0, true]);
    expect(of("server")).toMatchObject({
      state: "fine",
      found: expect.stringContaining("runs on this home"),
    });
    expect(of("keys")?.state).toBe("fine");
    expect(of("constitution")).toMatchObject({ state: "fine", found: expect.stringContaining("rules") });
    expect(new Set(findings.map(({ check }) => check)).size).toBe(13);
    for (const { state, mend } of findings) if (state !== "fine") expect(mend).toMatch(/\w/);
    await home.stop(reins);
    await chmod(home.path, 0o755);
    await rm(join(home.path, "keys"), { recursive: true });
    const roster = join(home.path, "agent-roster.jsonl");
    const line = (await readFile(roster, "utf8")).split("\n").length;
    await appendFile(roster, "reed\n");
    const open = await examined(home);
    expect(open.code).toBe(1);
    expect(open.of("keys")).toMatchObject({ state: "wrong", mend: expect.stringContaining("from a backup") });
    expect(open.of("roster")).toMatchObject({
      state: "wrong",
      found: expect.stringContaining(`line ${line} `),
    });
    expect(open.of("home")).toMatchObject({ state: "wrong", mend: expect.stringContaining("chmod 700") });
  });

  it("says when an OpenID issuer does not answer", async () => {
    const home = await OperatedHome.begun();
    const issuer = "{ name: corp, issuer: http://127.0.0.1:9, audience: [x], tenant: default }";
    await writeFile(join(home.path, "reins.yaml"), `oidc: [${issuer}]\n`);
    expect((await examined(home)).of("issuers")).toMatchObject({
      state: "wrong",
      found: expect.stringContaining('the issuer "corp" does not answer'),
      mend: expect.stringContaining("oidc in reins.yaml"),
    });
  });

  it("says when what is sealed cannot be opened; a key that was rotated is not missed", async () => {
    const home = new OperatedHome();
    const file = join(home.path, "keys", "vault.key");
    const before = await home.up();
    const id = await home.ask();
    await home.stop(before);
    const rotated = await home.json("ledger", "keys", "rotate", "reins:vault");
    expect(rotated).toMatchObject({ keys: [{ holder: "reins:vault" }] });
    const keys = async () => (await readFile(file, "utf8")).trim().split("\n").length;
    expect(await keys()).toBe(2);
    expect((await examined(home)).of("vault")?.state).toBe("fine");
    const after = await home.up();
    await expect.poll(keys).toBe(1);
    expect(await home.done("approvals", "show", id)).toContain('given      command: "make all"');
    await home.stop(after);
    await rm(file);
    const { code, of } = await examined(home);
    expect(code).toBe(1);
    expect(of("vault")).toMatchObject({
      state: "wrong",
      found: expect.stringMatching(
        /^1 approvals and grants were sealed with the key [0-9a-f]{8}, which is missing/,
      ),
      mend: expect.stringContaining("from a backup"),
    });
  });

  it("knows the rules of an earlier version, and how to take over today's", async () => {
    const home = new OperatedHome();
    const rules = join(home.path, "constitution.yaml");
    await home.stop(await home.up());
    await copyFile(new URL("support/earlier-default.yaml", import.meta.url), rules);
    const { code, findings } = await examined(home);
    // Those rules are read more strictly by now, and fail their own tests.
    expect(code).toBe(1);
    const earlier = findings.find(({ check, state }) => check === "constitution" && state === "wrong");
    expect(earlier).toMatchObject({ found: expect.stringContaining("earlier version") });
    const [, from, to] = /cp "(.+)" "(.+)"$/.exec(earlier?.mend ?? "") ?? [];
    expect(to).toBe(rules);
    await copyFile(from ?? "", to ?? "");
    expect(await readFile(rules)).toEqual(await readFile(defaultFile("default.yaml")));
    const today = await examined(home);
    expect(today.findings.filter(({ check }) => check === "constitution")).toHaveLength(1);
  });
});
