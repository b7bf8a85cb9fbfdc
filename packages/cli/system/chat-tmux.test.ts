import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, describe, expect, it } from "vitest";
import { homeWith, stub } from "./support/added-agents.ts";
import type { OperatedHome } from "./support/operated-home.ts";
import { reinsCommand } from "./support/reins.ts";
import { closeTerminals, ScreenTerminal } from "./support/screen-terminal.ts";

const ENTER = "\r";
const CTRL_C = "\u0003";
const CHAT = [...reinsCommand, "--agent", "stub"];

const hasTmux = (() => {
  try {
    execFileSync("tmux", ["-V"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
})();

const endings: (() => void)[] = [];
afterEach(() => {
  for (const end of endings.splice(0)) end();
  closeTerminals();
});

/** A tmux server of its own, with a conversation in its window; each client of it is a terminal. */
function tmuxFor(home: OperatedHome, columns: number) {
  const folder = mkdtempSync(join(tmpdir(), "tmux-"));
  const [program, ...own] = ["tmux", "-S", join(folder, "socket"), "-f", "/dev/null"] as const;
  endings.push(() => {
    try {
      execFileSync(program, [...own, "kill-server"], { stdio: "ignore" });
    } catch {
      // It ended with its window.
    }
    rmSync(folder, { recursive: true, force: true });
  });
  // A window shows no more than its rows; what scrolled out of it is tmux's to show.
  const options = { columns, rows: 70, environment: home.environment, cwd: home.workspace };
  return (...command: readonly string[]) =>
    new ScreenTerminal(command, { ...options, command: [program, ...own] });
}

describe.skipIf(!hasTmux)(
  `a conversation in tmux${hasTmux ? "" : " (needs tmux, which is not installed)"}`,
  () => {
    it.each([80, 60])("shows prompts, questions and answers on %i columns", async (columns) => {
      const home = homeWith([stub]);
      await home.up();
      const tmux = tmuxFor(home, columns);
      const terminal = tmux("new-session", ...CHAT);
      await terminal.shows("ready · ");
      await terminal.shows(" in ");
      terminal.type(`run make all${ENTER}`);
      await terminal.shows('given      command: "make all"');
      terminal.keep(`tmux-${columns}`);
      await terminal.answer("a", "Allowed once.");
      await terminal.shows("ready · stub");
      // What is drawn again is not left in the history of tmux.
      const history = tmux("capture-pane", "-p", "-S", "-");
      await history.ended;
      expect(history.output.match(/(?:ready|starting) ·/g)).toHaveLength(1);
      terminal.type(CTRL_C);
      await terminal.shows("Ctrl-C again leaves");
      terminal.type(CTRL_C);
      expect(await terminal.ended).toBe(0);
    });

    it("goes on when its terminal is gone, and is answered in another one of another width", async () => {
      const home = homeWith([stub]);
      await home.up();
      const tmux = tmuxFor(home, 80);
      const terminal = tmux("new-session", ...CHAT);
      await terminal.shows("ready · ");
      await terminal.shows(" in ");
      terminal.type(`run make all${ENTER}`);
      await terminal.shows("? An agent waits for you.");
      terminal.kill();
      await terminal.ended;
      const other = tmux("attach-session");
      await other.shows('given      command: "make all"');
      other.resize(100, 70);
      await other.answer("a", "Allowed once.");
      await other.shows("ready · stub");
      other.keep("tmux-attached");
    });
  },
);
