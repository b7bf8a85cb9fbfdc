import { join } from "node:path";
import { ledgerTables } from "@reins/ledger";
import { openSqlite } from "@reins/store";
import { describe, expect, it } from "vitest";
import { OperatedHome } from "./support/operated-home.ts";

describe("reins approvals, while Reins runs", () => {
  it("lists and shows what an agent waits for, and allows it once it is approved", async () => {
    const home = new OperatedHome();
    await home.up();
    expect(await home.done("approvals", "list")).toBe("No approval is pending.\n");
    const id = await home.ask();
    expect(await home.done("approvals", "list")).toContain(`${id.slice(0, 12)}  pending `);
    expect(await home.json("approvals", "list")).toMatchObject({
      approvals: [{ id, state: "pending", agent: "native" }],
    });
    const shown = await home.done("approvals", "show", id.slice(0, 10));
    for (const text of [
      `approval   ${id}\nstate      waits, 23h left; one person decides;`,
      "asks       agent native\n",
      "for        user operator of tenant default, in session s1\n",
      "why        no rule allows it without asking\n           rule everything_else_is_asked_about\n",
      'given      command: "make all"\n',
      "run make all (opaque)\n",
      `in         ${home.workspace}\n`,
      "once       exactly this, one time",
      "always     exactly this whenever native does it for operator",
    ])
      expect(shown).toContain(text);
    expect(await home.done("approvals", "approve", id.slice(4, 12))).toContain(`allowed once  ${id}\n`);
    expect(await home.decide()).toMatchObject({ decision: "allow" });
    expect(await home.done("approvals", "list", "--state", "used")).toContain(id.slice(0, 12));
    expect(await home.ask()).not.toBe(id);
  });

  it("tells the agent that it was denied, and why", async () => {
    const home = new OperatedHome();
    await home.up();
    const id = await home.ask();
    expect(await home.json("approvals", "deny", id, "--note", "use ninja")).toMatchObject({
      state: "denied",
    });
    const { decision, reason } = await home.decide().then((given) => ({ reason: "", ...given }));
    expect(decision).toBe("block");
    expect(reason).toBe("denied by user:default/operator: use ninja");
  });

  it("takes one of two answers that come at once, and tells the other who was first", async () => {
    const home = new OperatedHome();
    await home.up();
    const id = await home.ask();
    const both = await Promise.all([home.run("approvals", "approve", id), home.run("approvals", "deny", id)]);
    const [won, lost] = both.toSorted((left, right) => Number(left.code) - Number(right.code));
    expect({ won: won?.code, lost: lost?.code }).toEqual({ won: 0, lost: 1 });
    const said = won?.stdout.startsWith("allowed once") ? "approved already" : "denied already";
    expect(lost?.stderr).toContain(`The approval ${id} is ${said}: user:default/operator said `);
    expect(lost?.stderr).toMatch(/ at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d/);
  });

  it("grants for always, visibly, until it is revoked", async () => {
    const home = new OperatedHome();
    await home.up();
    const id = await home.ask();
    expect(await home.done("approvals", "approve", id, "--always", "--for", "8h")).toContain(
      "allowed always",
    );
    expect(await home.decide({ session: "another" })).toMatchObject({ decision: "allow" });
    const listed = await home.done("approvals", "grants");
    expect(listed).toMatch(/^grant {6}grt_\S{22}, 7h left\nlets {7}agent native for user operator\n/);
    expect(listed).toContain("used       once, last ");
    const grant = (await home.json("approvals", "grants")).grants[0].id;
    expect(await home.done("approvals", "revoke", grant.slice(0, 9))).toContain(`revoked  ${grant}\n`);
    expect(await home.ask({ session: "another" })).not.toBe(id);
    const again = await home.run("approvals", "revoke", grant);
    expect(again.code).toBe(1);
    expect(again.stderr).toContain(`The grant ${grant} was revoked by user:default/operator at `);
    expect(await home.done("approvals", "grants")).toBe("There are no grants.\n");
    expect(await home.done("approvals", "grants", "--all")).toContain("revoked by user:default/operator");
  });

  it("hides nothing of what an agent wrote", async () => {
    const home = new OperatedHome();
    await home.up();
    const id = await home.ask({ command: "echo \u202egnp.exe\u001b[2K\nwhy        it is fine\u200b" });
    const shown = await home.done("approvals", "show", id);
    expect(shown).toContain(
      "  | echo \\u202egnp.exe\\u001b[2K\n             | why        it is fine\\u200b\n",
    );
    const listed = await home.done("approvals", "list");
    expect(listed).toContain("\\u202e");
    expect(shown + listed).not.toMatch(/[\p{Bidi_Control}\u200b]|[^\P{Cc}\n]/u);
  });

  it("shows a change of a file as what goes and what comes", async () => {
    const home = new OperatedHome();
    await home.up();
    const edit = { file_path: "/etc/motd", old_string: "one\ntwo\n", new_string: "one\n2\n" };
    const id = await home.ask({ agent: "claude", tool: "Edit", arguments: edit });
    expect(await home.done("approvals", "show", id)).toContain(
      ["old_string → new_string:", "  |   one", "  | - two", "  | + 2", "  |"].join("\n           "),
    );
  });

  it("says which approvals there are when an id is none of them, or of several", async () => {
    const home = new OperatedHome();
    await home.up();
    expect(await home.run("approvals", "show", "apr_zzzzz")).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("There is no approval whose id begins with apr_zzzzz."),
    });
    expect(await home.run("approvals", "approve", `apr_${"z".repeat(22)}`)).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("To see which there are: reins approvals list --state all"),
    });
    expect((await home.run("approvals", "deny", "zz")).code).toBe(2);
    expect((await home.run("approvals", "approve", "zzzzz", "--for", "1h")).stderr).toContain("Add --always");
  });
});

describe("reins approvals, while nothing runs", () => {
  it("answers what was asked before; the agent gets it when Reins is up again", async () => {
    const home = new OperatedHome();
    const first = await home.up();
    const id = await home.ask();
    // Killed, so that its sockets stay behind, without a listener.
    await first.kill();
    expect(await home.json("approvals", "list")).toMatchObject({ approvals: [{ id }] });
    expect(await home.done("approvals", "approve", id)).toContain("allowed once");
    const { code, stderr } = await home.run("approvals", "deny", id);
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(/is approved already: user:default\/operator said allow_once at /),
    });
    await home.up();
    expect(await home.decide()).toMatchObject({ decision: "allow" });
  });

  it("accepts one of two answers at once; the other gets an error", async () => {
    const home = new OperatedHome();
    const reins = await home.up();
    const id = await home.ask();
    await home.stop(reins);
    const answers = await Promise.all([
      home.run("approvals", "approve", id),
      home.run("approvals", "deny", id),
    ]);
    expect(answers.filter(({ code }) => code === 0)).toHaveLength(1);
    const lost = answers.find(({ code }) => code !== 0);
    expect(lost?.stderr).toMatch(/is (approved|denied) already|Another process holds/);
  });

  it("says that another process holds the home", async () => {
    const home = await OperatedHome.begun();
    const store = await openSqlite({ path: join(home.path, "reins.db"), tables: [ledgerTables] });
    try {
      expect(await home.run("approvals", "list")).toMatchObject({
        code: 4,
        stdout: "",
        stderr: expect.stringContaining(`Another process holds ${home.path}, and no Reins answers on `),
      });
    } finally {
      await store.close();
    }
  });

  it("has nothing to watch", async () => {
    const home = await OperatedHome.begun();
    expect(await home.run("approvals", "watch")).toMatchObject({
      code: 3,
      stdout: "",
      stderr: expect.stringContaining("Start it in another terminal: reins up"),
    });
  });

  it("does not begin a home by mistake", async () => {
    const home = new OperatedHome();
    expect(await home.run("approvals", "list")).toMatchObject({
      code: 3,
      stderr: expect.stringContaining(`There is no ledger in ${home.path} yet.`),
    });
  });
});
