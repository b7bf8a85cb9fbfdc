import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { homeWith, stub } from "./support/added-agents.ts";
import { OperatedHome } from "./support/operated-home.ts";
import { closeTerminals, ScreenTerminal } from "./support/screen-terminal.ts";

afterEach(closeTerminals);

const ENTER = "\r";
const ESCAPE = "\u001b";
const CTRL_C = "\u0003";
const TAB = "\t";

/** A terminal with a conversation, in the workspace of a home. */
async function chat(
  home: OperatedHome,
  args: readonly string[] = [],
  size: { columns?: number; rows?: number } = {},
) {
  const terminal = new ScreenTerminal(args, { ...size, environment: home.environment, cwd: home.workspace });
  await terminal.shows("ready · ");
  await terminal.shows(" in ");
  return terminal;
}

function stubHome(): OperatedHome {
  return homeWith([stub]);
}

/** A prompt of several steps: the line break of a paste does not send it. */
const steps = (...lines: readonly string[]) => `${ESCAPE}[200~${lines.join("\n")}${ESCAPE}[201~${ENTER}`;

describe("reins alone on a terminal", () => {
  it("opens a conversation without a server: a prompt, calls with verdicts, a diff, and leaves with Ctrl-C twice", async () => {
    const home = new OperatedHome();
    writeFileSync(join(home.workspace, "README.md"), "# A project\n");
    const terminal = await chat(home);
    await terminal.shows("No server runs here");
    terminal.type(`what is in this folder${ENTER}`);
    await terminal.shows("› what is in this folder");
    await terminal.shows(/✓ List \.\n {2}allowed \[work_in_the_workspace\], performed\n {2}README\.md/);
    await terminal.shows("ready · native");
    terminal.type(`write a file hello.txt that says hello${ENTER}`);
    await terminal.shows(/hello\.txt:1\n {2}\+ hello/);
    await terminal.shows("ready · native");
    terminal.keep("first-prompt");
    terminal.type(CTRL_C);
    await terminal.shows("Ctrl-C again leaves");
    terminal.type(CTRL_C);
    expect(await terminal.ended).toBe(0);
    await terminal.shows(/To continue: reins --resume [0-9a-f]{8}/);
    expect(terminal.visible).not.toContain("ready · native");
  });

  it("prints the help where it is no terminal", async () => {
    const { code, stdout, stderr } = await new OperatedHome().run();
    expect(code).not.toBe(0);
    expect(stdout + stderr).toContain("Usage: reins");
  });
});

describe("an approval in a conversation", () => {
  it("shows what it binds and is allowed, denied or left by keys, one question after the other", async () => {
    const home = stubHome();
    await home.up();
    const terminal = await chat(home, ["--agent", "stub"]);
    terminal.type(steps("run make all", "run make more", "run make later", "say That was it."));
    await terminal.shows('given      command: "make all"');
    await terminal.shows("? An agent waits for you. Tab answers");
    terminal.keep("approval");
    await terminal.answer("a", "Allowed once.");
    await terminal.shows('given      command: "make more"');
    await terminal.answer("d", "Denied.");
    await terminal.shows('given      command: "make later"');
    terminal.keep("approval-denied");
    const [pending] = (await home.json("approvals", "list")).approvals;
    await home.done("approvals", "deny", pending.id, "--note", "not today");
    await terminal.shows(/Answered elsewhere: .* denied it at .*:\s+not today/);
    await terminal.shows("That was it.");
    await terminal.shows("ready · stub");
    const log = await home.done("ledger", "log", "--quality", "approval", "--json");
    expect(log.match(/user:default\/operator/g)?.length).toBeGreaterThanOrEqual(2);
  });

  it("is not answered by keys that were typed ahead, nor by those of a text that is being written", async () => {
    const home = stubHome();
    await home.up();
    const terminal = await chat(home, ["--agent", "stub"]);
    // All at once: a prompt, and what would answer the question that it leads to.
    terminal.type(`run make all${ENTER}${TAB}a${TAB}a`);
    await terminal.shows('given      command: "make all"');
    terminal.type("add a");
    await terminal.shows(/^.*add a/m);
    terminal.type(`${TAB}a${TAB}a/allow${ENTER}`);
    await expect.poll(async () => (await home.json("approvals", "list")).approvals.length).toBe(1);
    expect(terminal.text).not.toContain("Allowed once.");
    await terminal.answer("d", "Denied.");
    await expect.poll(async () => (await home.json("approvals", "list")).approvals.length).toBe(0);
  });

  it("is allowed always, or denied with a reason, by a command", async () => {
    const home = stubHome();
    await home.up();
    const terminal = await chat(home, ["--agent", "stub"]);
    terminal.type(`run npm test${ENTER}`);
    await terminal.shows("? An agent waits for you.");
    await terminal.answer("A", "Allowed, and always from now on");
    await terminal.shows("ready · stub");
    terminal.type(`run npm test${ENTER}`);
    await terminal.shows(/yes[\s\S]*yes/);
    await terminal.shows("ready · stub");
    terminal.type(`run make all${ENTER}`);
    await terminal.shows('given      command: "make all"');
    await terminal.shows("? An agent waits for you.");
    const deny = setInterval(() => terminal.type(`/deny it is late${ENTER}`), 1_500);
    try {
      await terminal.shows("Denied.");
    } finally {
      clearInterval(deny);
    }
    const { approvals } = await home.json("approvals", "list", "--state", "denied");
    expect(approvals[0].answers[0].note).toBe("it is late");
  });

  it("cannot be drawn over: nothing hidden of an agent reaches the terminal", async () => {
    const home = stubHome();
    await home.up();
    const terminal = await chat(home, ["--agent", "stub"]);
    const evil =
      "\u001b[2J\u001b[H\u001b]0;owned\u0007\u001b]52;c;b3duZWQ=\u0007\u009b31m\u202egnp.exe\u200b";
    const update = {
      sessionUpdate: "agent_message_chunk",
      content: { type: "text", text: `before ${evil} after` },
    };
    const plan = { sessionUpdate: "plan", entries: [{ content: evil, status: "pending", priority: "low" }] };
    terminal.type(
      steps(
        ...[update, plan].map((each) => `update ${JSON.stringify(each).replace(/[^ -~]/g, escapeUnit)}`),
        `run make ${"\u202e"}all`,
      ),
    );
    await terminal.shows("? An agent waits for you.");
    await terminal.shows(/before\s+\\u\{1b\}\[2J.*owned/);
    await terminal.shows(/\\u202eall/);
    terminal.keep("hostile-agent");
    // Neither a title, nor the clipboard, nor anything erased beyond the line, nor another direction.
    for (const hidden of ["\u001b]", "\u009b", "\u202e", "\u200b", "\u001b[2J", "\u001b[H"])
      expect(terminal.output).not.toContain(hidden);
  });
});

function escapeUnit(character: string): string {
  return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

describe("a turn in a conversation", () => {
  it("queues prompts, is cancelled by Esc, and goes on with the next one", async () => {
    const home = stubHome();
    await home.up();
    const terminal = await chat(home, ["--agent", "stub"]);
    terminal.type(`wait${ENTER}`);
    await terminal.shows("working, Esc cancels");
    terminal.type(`say the second${ENTER}`);
    await terminal.shows("queued  say the second");
    terminal.keep("queue");
    terminal.type(ESCAPE);
    await terminal.shows("· Cancelled.");
    await terminal.shows(/› say the second\n\n {2}the second/);
    await terminal.shows("ready · stub");
    terminal.type(`wait${ENTER}`);
    await terminal.shows("working, Esc cancels");
    terminal.type(CTRL_C);
    await terminal.shows(/Cancelled\.[\s\S]*Cancelled\./);
    // A terminal that reports that the key was let go does not press it again.
    terminal.type("\u001b[99;5:3u");
    terminal.type(`say still here${ENTER}`);
    await terminal.shows(/^ {2}still here/m);
  });

  it("says what happened when the agent dies, and when the session is killed", async () => {
    const home = stubHome();
    await home.up();
    const terminal = await chat(home, ["--agent", "stub"]);
    terminal.type(`crash${ENTER}`);
    await terminal.shows("· The stub ended with code 3");
    terminal.type(`say still here${ENTER}`);
    await terminal.shows(/^ {2}still here/m);
    await terminal.shows("ready · stub");
    const id = /session ([0-9a-f]{8})/.exec(terminal.text)?.[1] ?? "";
    await home.run("kill", id);
    await terminal.shows("This session has ended");
    terminal.keep("killed");
    terminal.type(`say hello?${ENTER}`);
    await terminal.shows("/new begins one.");
    terminal.type(`/new stub${ENTER}`);
    await terminal.shows(/stub in .*\n[\s\S]*stub in .*/);
    terminal.type(`say anew${ENTER}`);
    await terminal.shows(/^ {2}anew/m);
  });
});
