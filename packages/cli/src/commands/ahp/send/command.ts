import type { Command } from "commander";
import { exitCodesHelp } from "../../../errors.ts";
import type { Invocation } from "../../../program.ts";
import type { SendFlags } from "./settings.ts";

const HELP = `
Targets for --to:
  http://host:port/ahp, https://…, ws://…, wss://…
  unix:/path/to/socket
  stdio                          starts the program after --
  (left out)                     the Reins of this home, on ahp.sock

Examples:
  reins ahp send pre_action --payload '{"tool_name":"bash","arguments":{"command":"ls"}}'
  reins ahp send pre_prompt --to http://127.0.0.1:18789/ahp --payload @prompt.json --json
  reins ahp send post_action --to unix:./ahp.sock
  reins ahp send idle --to stdio --payload '{"idle_duration_ms":1,"idle_reason":"done"}' -- node harness.ts

Whatever is not 0 means: do not go on. In a shell: reins ahp send pre_action --payload @call.json && ./call`;

/** Declares `reins ahp send`. */
export function declareSend(ahp: Command, invocation: Invocation): void {
  ahp
    .command("send")
    .summary("send one event and print the decision")
    .description("Shakes hands with a harness, sends it one event and prints the decision.")
    .argument("<event_type>", "pre_action, pre_prompt, post_action, …")
    .argument("[command...]", "with --to stdio: the program to start, after --")
    .option("--to <target>", "the harness (default: ahp.sock in the home folder)")
    .option("--home <folder>", "the home folder, when --to is left out")
    .option("--payload <json>", "the event's payload: JSON, @file, or - for stdin", "{}")
    .option("--session <id>", "session the event belongs to (default: a new one)")
    .option("--agent <id>", "agent the event is from (default: a new one)")
    .option("--depth <depth>", "depth of the event", "0")
    .option("--timeout-ms <ms>", "how long an answer may take", "10000")
    .option("--token <secret>", "bearer token to show; @file reads it from a file")
    .option("--api-key <secret>", "API key to show; @file reads it from a file")
    .option("--json", "print the decision as JSON")
    .addHelpText("after", HELP)
    .addHelpText(
      "after",
      exitCodesHelp({
        done: "allow or approve; for events that nobody decides on: sent",
        failed: "the harness refused the event or answered nonsense",
        usage: "wrong usage",
        unreachable: "the harness cannot be reached or does not let us in",
        blocked: "block, reject or skip",
        modified: "modify or refine: go on, but only as the decision says",
        deferred: "defer, retry or queue: ask again later",
        escalated: "escalate: somebody else decides",
      }),
    )
    .action(async (eventType: string, program: string[], _, command: Command) => {
      const { send } = await import("./send.ts");
      invocation.exitCode = await send(eventType, program, command.optsWithGlobals<SendFlags>());
    });
}
