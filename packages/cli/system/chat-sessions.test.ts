import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it, onTestFinished } from "vitest";
import { homeWith, stub } from "./support/added-agents.ts";
import { Link } from "./support/cluster.ts";
import { OperatedHome } from "./support/operated-home.ts";
import { runReins } from "./support/reins.ts";
import { closeTerminals, ScreenTerminal, type TerminalOptions } from "./support/screen-terminal.ts";

afterEach(closeTerminals);

const ENTER = "\r";
const TAB = "\t";
const ESC = "\u001b";
const DOWN = "\u001b[B";

async function chat(home: OperatedHome, args: readonly string[] = [], options: TerminalOptions = {}) {
  const environment = { ...home.environment, ...options.environment };
  const terminal = new ScreenTerminal(args, { ...options, environment, cwd: home.workspace });
  await terminal.shows(/session\s/);
  return terminal;
}

describe("sessions of a conversation", () => {
  it("are resumed, listed and shared with another terminal", async () => {
    const home = homeWith([stub]);
    await home.up();
    const first = await chat(home, ["--agent", "stub"]);
    first.type(`say the beginning${ENTER}`);
    await first.shows(/^ {2}the beginning/m);
    const id = /session ([0-9a-f]{8})/.exec(first.text)?.[1] ?? "";
    const second = await chat(home, ["--continue"]);
    await second.shows(/› say the beginning\s+the beginning/);
    first.type(`say from the first${ENTER}`);
    await second.shows(/› say from the first\s+from the first/);
    second.type(`say from the second${ENTER}`);
    await first.shows(/› say from the second\s+from the second/);
    second.keep("resumed");
    second.type(`/new stub${ENTER}`);
    await second.shows(/session [0-9a-f]{8}\n[\s\S]*session [0-9a-f]{8}\n/);
    second.type(`/sessions${ENTER}`);
    await second.shows("Enter chooses, Esc goes back");
    second.keep("sessions");
    second.type(DOWN);
    second.type(ENTER);
    await second.shows(new RegExp(`session ${id}[\\s\\S]*session ${id}`));
    const third = await chat(home, ["chat", "--resume", id]);
    await third.shows(/^ {2}from the second/m);
  });

  it("go on when the server is killed and started again", async () => {
    const home = homeWith([stub]);
    const server = await home.up();
    const terminal = await chat(home, ["--agent", "stub"]);
    terminal.type(`say before${ENTER}`);
    await terminal.shows(/^ {2}before/m);
    terminal.type(`wait${ENTER}`);
    await terminal.shows("working, Esc cancels");
    await server.kill();
    await terminal.shows("The connection to Reins is lost");
    await terminal.shows("disconnected · stub");
    terminal.type(`/sessions${ENTER}`);
    await terminal.shows("Reins does not answer. Start it with reins up");
    await home.up();
    await terminal.shows("Connected again.");
    await terminal.shows("Interrupted: ");
    await terminal.shows("ready · stub");
    terminal.keep("restarted");
    terminal.type(`say after${ENTER}`);
    await terminal.shows(/^ {2}after/m);
    expect(terminal.text.match(/^ {2}before/gm)).toHaveLength(1);
  });

  it("have the turn cancelled that was meant, where the connection was lost meanwhile", async () => {
    const home = homeWith([stub]);
    const server = await home.up();
    const link = await Link.to(Number(new URL(server.addressOf("http")).port));
    onTestFinished(() => link.close());
    const token = await home.startToken();
    const remote = await chat(home, ["--agent", "stub", "--url", `http://${link.address}`, "--token", token]);
    remote.type(`wait${ENTER}`);
    await remote.shows("working, Esc cancels");
    remote.type(`wait\\${ENTER}say the next${ENTER}`);
    const beside = await chat(home, ["--continue"]);
    await beside.shows("working, Esc cancels");
    link.cut();
    await remote.shows("disconnected · stub");
    remote.type(ESC);
    await remote.shows("Cancelled once the connection is back.");
    // The turn ends while its terminal is away, and the next one begins.
    beside.type(ESC);
    await beside.shows(/› wait\n {2}say the next[\s\S]*working, Esc cancels/);
    link.isCut = false;
    await remote.shows("Connected again.");
    remote.type(`/resume none${ENTER}`);
    await remote.shows("No session's id begins with none.");
    expect(remote.text.match(/Cancelled\./g)).toHaveLength(1);
    remote.type(ESC);
    await remote.shows(/the next[\s\S]*Cancelled/);
  });

  it("go back to before a turn, by a slash command and by reins rewind", async () => {
    const home = new OperatedHome();
    await home.up();
    const file = join(home.workspace, "hello.txt");
    const terminal = await chat(home);
    const id = /session ([0-9a-f]{8})/.exec(terminal.text)?.[1] ?? "";
    terminal.type(`write a file named hello.txt${ENTER}`);
    await terminal.shows("hello.txt is written.");
    await terminal.shows("ready · native");
    const dry = await home.run("rewind", id, "1", "--dry-run");
    expect(dry.stderr).toBe("");
    expect([dry.code, dry.stdout]).toEqual([0, expect.stringMatching(/to be removed .*hello\.txt/)]);
    expect(existsSync(file)).toBe(true);
    terminal.type(`/rewind${ENTER}`);
    await terminal.shows("Go back to before");
    terminal.type(ENTER);
    await terminal.shows(/to be removed .*hello\.txt[\s\S]*Go back\?/);
    terminal.keep("rewind");
    terminal.type(ENTER);
    await terminal.shows("The conversation went back");
    expect(existsSync(file)).toBe(false);
    // The rewind is taken back, and what another wrote is not overwritten.
    expect(await home.done("rewind", id, "2")).toMatch(/written .*hello\.txt/);
    writeFileSync(file, "of a person");
    const refused = await home.run("rewind", id, "1", "--files");
    expect([refused.code, refused.stdout]).toEqual([1, expect.stringContaining("Nothing was changed.")]);
    expect(readFileSync(file, "utf8")).toBe("of a person");
    expect(await home.done("rewind", id)).toMatch(/rewind[\s\S]*rewind/);
    expect((await home.run("rewind", id, "9")).stderr).toContain("There is no turn 9");
  });

  it("are forked, and have modes, models and files that are completed and chosen", async () => {
    const home = new OperatedHome();
    mkdirSync(join(home.workspace, "src"));
    writeFileSync(join(home.workspace, "src", "main file.ts"), "export const answer = 42;\n");
    await home.up();
    const terminal = await chat(home);
    terminal.type("/mo");
    await terminal.shows("/model [model]");
    terminal.keep("commands");
    terminal.type(`de plan${ENTER}`);
    await terminal.shows("Mode: plan");
    await terminal.shows("ready · native · Plan");
    terminal.type(`/mode${ENTER}`);
    await terminal.shows("Mode, now plan");
    terminal.type(ENTER);
    await terminal.shows("Mode: default");
    terminal.type(`/model nonesuch${ENTER}`);
    await terminal.shows('There is no model "nonesuch".');
    terminal.type("summarise @main");
    await terminal.shows("src/main file.ts");
    terminal.keep("files");
    terminal.type(TAB);
    await terminal.shows('summarise @"src/main file.ts"');
    terminal.type(ENTER);
    await terminal.shows('› summarise @"src/main file.ts"');
    await terminal.shows("ready · native");
    const id = /session ([0-9a-f]{8})/.exec(terminal.text)?.[1] ?? "";
    terminal.type(`/fork${ENTER}`);
    await terminal.shows(`Continues ${id} in a session of its own.`);
    terminal.type(`/nonesuch${ENTER}`);
    await terminal.shows("There is no command /nonesuch");
    terminal.type(`/help${ENTER}`);
    await terminal.shows("/always");
  });
});

describe("a screen of another size", () => {
  it.each([
    [40, 20],
    [24, 10],
    [160, 50],
  ])("of %i columns and %i rows has no line that is wider", async (columns, rows) => {
    const home = homeWith([stub]);
    await home.up();
    const terminal = await chat(home, ["--agent", "stub"], { columns, rows });
    const wide = "漢字かな 👨‍👩‍👧‍👦 ❤️ e\u0301\u0323 ".repeat(10);
    terminal.type(`say ${wide}| ${"x".repeat(200)}${ENTER}`);
    await terminal.shows(/x\n[\s\S]*ready/);
    terminal.type(`run make all${ENTER}`);
    await terminal.answer("a", "Allowed once.");
    await terminal.shows(/yes[\s\S]*ready/);
    terminal.keep(`size-${columns}x${rows}`);
    // One input and one status line: a line that wraps would leave others behind.
    expect(terminal.visible.match(/ready/g)).toHaveLength(1);
    expect(terminal.wrapped).toBe(0);
  });

  it("is drawn again when it is resized, and what was printed stays", async () => {
    const home = homeWith([stub]);
    await home.up();
    const terminal = await chat(home, ["--agent", "stub"], { columns: 100, rows: 30 });
    terminal.type(`say ${"some words ".repeat(20)}end${ENTER}`);
    await terminal.shows(/end\n[\s\S]*ready/);
    for (const [columns, rows] of [
      [60, 30],
      [60, 12],
      [90, 25],
    ] as const) {
      terminal.resize(columns, rows);
      await expect.poll(() => terminal.visible).toMatch(new RegExp(`^─{${columns}}$`, "m"));
    }
    terminal.keep("resized");
    await expect.poll(() => terminal.visible.match(/ready · stub/g)?.length).toBe(1);
    expect(terminal.text.match(/› say some words/g)).toHaveLength(1);
  });

  it("takes a paste of many lines as one prompt", async () => {
    const home = homeWith([stub]);
    await home.up();
    const terminal = await chat(home, ["--agent", "stub"]);
    const lines = Array.from({ length: 30 }, (_, index) => `say line ${index}`);
    terminal.type(`\u001b[200~${lines.join("\r")}\u001b[201~`);
    await terminal.shows("[paste #1 +30 lines]");
    terminal.type(ENTER);
    await terminal.shows("line 28line 29");
    expect(terminal.text.match(/^› /gm)).toHaveLength(1);
  });
});

describe("a conversation without colours or a screen", () => {
  it("has no colours with NO_COLOR", async () => {
    const home = new OperatedHome();
    await home.up();
    const terminal = await chat(home, [], { environment: { NO_COLOR: "1" } });
    terminal.type(`what is in this folder${ENTER}`);
    await terminal.shows(/✓ List[\s\S]*ready/);
    // biome-ignore lint/suspicious/noControlCharactersInRegex: colours begin with it.
    expect(terminal.output).not.toMatch(/\u001b\[(?:3\d|9\d|2|1)m/);
  });

  it("is lines on a dumb terminal, where commands answer", async () => {
    const home = homeWith([stub]);
    await home.up();
    const terminal = await chat(home, ["--agent", "stub"], { environment: { TERM: "dumb" } });
    terminal.type("run make all\n");
    await terminal.shows("? Answer with /allow, /always or /deny <reason>.");
    const allow = setInterval(
      () => !terminal.text.includes("Allowed once.") && terminal.type("/allow\n"),
      1_000,
    );
    try {
      await terminal.shows("Allowed once.");
    } finally {
      clearInterval(allow);
    }
    await terminal.shows(/^ {2}yes/m);
    terminal.type("/quit\n");
    expect(await terminal.ended).toBe(0);
    expect(terminal.output).not.toContain("\u001b");
  });

  it("is lines in a pipe, where answers come from elsewhere", async () => {
    const home = homeWith([stub]);
    await home.up();
    const input = `say one\nrun make all\n/allow\nsay two \u001b]0;x\u0007\n`;
    const args = ["chat", "--agent", "stub", "--cwd", home.workspace];
    const done = runReins(args, home.environment, input);
    await expect.poll(async () => (await home.json("approvals", "list")).approvals.length).toBe(1);
    const [{ id }] = (await home.json("approvals", "list")).approvals;
    await home.done("approvals", "approve", id);
    const { code, stdout } = await done;
    expect(stdout).toMatch(
      / {2}one\n[\s\S]*waits for an answer from elsewhere[\s\S]* {2}yes\n[\s\S]* {2}two/i,
    );
    expect(stdout).not.toContain("\u001b");
    expect(code).toBe(0);
  });
});
