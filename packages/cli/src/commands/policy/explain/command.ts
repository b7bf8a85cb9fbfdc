import type { Command } from "commander";
import { exitCodesHelp } from "../../../errors.ts";
import { repeated } from "../../../flags.ts";
import { LOOKING } from "../exit-codes.ts";
import type { ExplainFlags } from "./settings.ts";

const HELP = `
The event is an AHP event, or only what a tool is called with, such as
  {"tool_name":"Bash","arguments":{"command":"ls"}}
What it would do is found out on this machine as it is now; nothing of it is
done. If rules count what came before, that is taken from the ledger of the
home, when there is one.

Examples:
  reins policy explain event.json
  reins policy explain '{"tool_name":"bash","arguments":{"command":"make"}}'
  reins policy explain event.json --agent claude --tools claude-code
  reins policy explain event.json --workspace ~/project --cwd ~/project/src
  reins policy explain event.json --file draft.yaml --trust unknown
  reins policy explain event.json --enforcement confined --json | jq .verdict`;

/** Declares `reins policy explain`. */
export function declareExplain(policy: Command): void {
  policy
    .command("explain")
    .summary("tell what would be decided on an event, and why")
    .description(
      "Finds out what an event would do, goes through the rules, and tells in plain words what held, " +
        "what failed, what the verdict is and why.",
    )
    .argument("<event>", "a file with the event, the JSON itself, or - for stdin")
    .option("--file <file>", "the constitution (default: constitution.yaml of the home)")
    .option("--home <folder>", "the home folder")
    .option("--cwd <folder>", "where the agent's relative paths start (default: here)")
    .option(
      "--workspace <folder>",
      "a folder the session works in (default: --cwd); may be repeated",
      repeated,
    )
    .option("--agent <id>", "the agent (default: the event's, or native)")
    .option("--tools <agent>", "whose table of tools applies (default: that of the agent)")
    .option("--trust <trust>", "unknown, registered or standing (default: what the roster says)")
    .option("--enforcement <level>", "performed, confined, asked or observed", "asked")
    .option("--session <id>", "the session (default: the event's)")
    .option("--user <id>", "on whose behalf", "operator")
    .option("--tenant <name>", "the tenant", "default")
    .option("--role <role>", "a role of the user; may be repeated", repeated)
    .option("--scope <scope>", "a scope of the subject (default: *, all); may be repeated", repeated)
    .option("--started <how>", "interactive, sub-agent, background or api", "interactive")
    .option("--mode <mode>", "the mode the session is in", "default")
    .option("--at <time>", "the time of the event, RFC 3339 (default: now)")
    .option("--json", "print it as JSON")
    .addHelpText("after", HELP)
    .addHelpText("after", exitCodesHelp({ ...LOOKING, done: "explained, whatever the verdict" }))
    .action(async (event: string, _, command: Command) => {
      const { explain } = await import("./explain.ts");
      await explain(event, command.optsWithGlobals<ExplainFlags>());
    });
}
