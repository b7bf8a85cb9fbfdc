import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { OperatedHome } from "./support/operated-home.ts";

const LOOSER = `
  - name: ann_may_do_anything
    condition: { user: ann }
    verdict: allowed
    reason: we trust her
`;

/** Puts a rule before the one that asks about everything else. */
async function loosen(home: OperatedHome): Promise<void> {
  const file = join(home.path, "constitution.yaml");
  const rules = await readFile(file, "utf8");
  await writeFile(file, rules.replace("\n  - name: everything_else", `${LOOSER}  - name: everything_else`));
}

describe.each(["runs", "does not run"])("reins policy accept, while Reins %s", (state) => {
  it("shows what a looser constitution would change, and puts it into force", async () => {
    const home = await OperatedHome.begun();
    if (state === "runs") await home.up();
    expect(await home.run("policy", "accept")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("No changed constitution of default waits to be accepted."),
    });
    await loosen(home);
    const looked = await home.done("policy", "accept", "--dry-run");
    expect(looked).toContain("Rules\n  + ann_may_do_anything, as no. ");
    expect(looked).toContain("verdict: allowed");
    expect(looked).toContain("Nothing was changed; it still waits.\n");
    expect(await home.json("policy", "accept")).toMatchObject({
      tenant: "default",
      accepted: true,
      difference: {
        no_looser: false,
        differences: [{ section: "rules", kind: "added", name: "ann_may_do_anything" }],
      },
    });
    if (state !== "runs") await home.up();
    expect((await home.run("policy", "accept")).code).toBe(1);
    expect(await home.done("ledger", "log", "--quality", "policy_change", "--tag", "constitution")).toContain(
      "user:default/op",
    );
  });
});

describe("reins policy accept", () => {
  it("says what is wrong with a constitution that is not fine", async () => {
    const home = await OperatedHome.begun();
    await writeFile(join(home.path, "constitution.yaml"), "tool_rules: [{ name: x, verdict: maybe }]\n");
    const { code, stderr } = await home.run("policy", "accept");
    expect(code).toBe(1);
    expect(stderr).toContain("is not valid, so it cannot be accepted.");
    expect(stderr).toMatch(/constitution\.yaml:1:\d+: tool_rules\.0\.verdict/);
  });

  it("is for an admin", async () => {
    const home = new OperatedHome();
    const reins = await home.up();
    await home.done("user", "add", "ann", "--name", "Ann", "--email", "ann@example.com");
    const { secret } = await home.json("token", "create", "--user", "ann");
    await loosen(home);
    const url = new URL(reins.addressOf("http")).origin;
    expect(await home.run("policy", "accept", "--url", url, "--token", secret)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('it takes the role "admin"'),
    });
  });

  it("reaches the tenants of the operator", async () => {
    const home = new OperatedHome();
    const reins = await home.up();
    await home.done("user", "add", "bob", "--name", "Bob", "--email", "bob@acme.example", "--tenant", "acme");
    await reins.printed("rules are in force for acme");
    await loosen(home);
    expect(await home.json("policy", "accept", "--tenant", "acme")).toMatchObject({
      tenant: "acme",
      accepted: true,
    });
    expect((await home.run("policy", "accept", "--tenant", "missing")).code).toBe(1);
  });
});
