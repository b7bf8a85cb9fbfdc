import type { Command } from "commander";
import { exitCodesHelp } from "../../../errors.ts";
import { READING } from "../../../ledger/open-ledger.ts";
import type { LogFlags } from "./settings.ts";

const HELP = `
A line shows time, quality, actor, target, the beginning of the content id, and what the entry says. Times for --since
and --until are in UTC, such as 2026-11-15 or 2026-11-15T05:20:00Z, or say how long ago: 90s, 15m, 2h, 3d.

Examples:
  reins ledger log --limit 20
  reins ledger log -f --quality policy_verdict      verdicts as they are given
  reins ledger log --session reed:ahp:1 --since 2h
  reins ledger log --json | jq -r .entry.actor | sort | uniq -c`;

/** Declares `reins ledger log`. */
export function declareLog(ledger: Command): void {
  ledger
    .command("log")
    .summary("print entries, and follow those that come")
    .description("Prints entries, one on a line, the oldest first. Works while Reins runs.")
    .option("--home <folder>", "the home folder")
    .option("-f, --follow", "go on with entries as they come, until Ctrl-C (starts with the last 10)")
    .option("--session <id>", "only entries of this session")
    .option("--quality <quality>", "only entries of this quality: turn, tool_call, policy_verdict, …")
    .option("--actor <name>", "only entries by this agent, person or reins:system")
    .option("--tag <tag>", "only entries with this tag")
    .option("--since <time>", "only entries from then on")
    .option("--until <time>", "only entries before then")
    .option("--limit <count>", "at most so many, the newest of them")
    .option("--newest", "the newest first")
    .option("--json", "print one JSON document per line")
    .addHelpText("after", HELP)
    .addHelpText("after", exitCodesHelp({ ...READING, done: "done, or stopped by Ctrl-C" }))
    .action(async (_, command: Command) => {
      const { log } = await import("./log.ts");
      await log(command.optsWithGlobals<LogFlags>());
    });
}
