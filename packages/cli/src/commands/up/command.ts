import type { Command } from "commander";
import { exitCodesHelp } from "../../errors.ts";
import { repeated } from "../../flags.ts";
import type { UpFlags } from "./settings.ts";

const HELP = `
reins.yaml in the home may set host, port, allow_hosts, tls ({cert, key}), workspaces, tenants (their
roots), agent_idle, cancel_grace, retention, db, policy, constitution, ttl, preload_standing, heartbeat_interval (0 for none), ws ({auth: none} lets whoever is on
this machine in as a stranger), and webhooks for approvals.

Environment, each overridden by its flag:
  REINS_HOST, REINS_PORT, REINS_HOME, REINS_TOKEN, REINS_DB, REINS_POLICY, REINS_CONSTITUTION, REINS_TTL,
  REINS_PRELOAD_STANDING, REINS_HEARTBEAT_INTERVAL
  REINS_LOG      trace, debug, info, warn, error or silent

Examples:
  reins up
  reins up --port 0                                any free port; see what it prints
  REINS_TOKEN=@/run/secrets/reins reins up --host 0.0.0.0
  reins up --home ./scratch                        a second Reins beside the first
  reins up --policy haak.yaml --preload-standing   under other rules, with the roster's standing agents
  reins ledger log -f                              what it records, from another terminal`;

/** Declares `reins up`. */
export function declareUp(program: Command): void {
  program
    .command("up")
    .summary("serve the agents of this machine")
    .description(
      "Serves AHP over HTTP and WebSocket at /ahp, and on ahp.sock in the home folder; the API of Reins at\n" +
        "/v1, and for this user's reins commands on reins.sock; HAAK's sessions, for OpenClaw clients, at /ws and /.\n" +
        "Decides by the constitution of the home, which is written on the first start; see reins policy.\n" +
        "What is let through is on disk, in the ledger of the home, before it is told; see reins ledger.\n" +
        "Runs until Ctrl-C; what is under way may finish, a second Ctrl-C ends it at once (exit code 130).\n" +
        "Logs human lines on a terminal and one JSON document per line elsewhere.",
    )
    .option("--bind, --host <host>", "address to listen on (default: 127.0.0.1)")
    .option("--port <port>", "port to listen on, 0 for any free one (default: 18789)")
    .option("--home <folder>", "where Reins keeps everything (default: reins in the user's data folder)")
    .option(
      "--token <secret>",
      "secret that stands for the operator, in place of the one in start-token in the home; @file reads one per line; may be repeated",
      repeated,
    )
    .option(
      "--workspace <folder>",
      "folder in which agents work that are told of no other (default: this one, and none for those that only speak AHP); may be repeated",
      repeated,
    )
    .option(
      "--db <file>",
      "where the database is to lie; the home links to it (default: reins.db in the home)",
    )
    .option("--policy <file>", "the rules of the constitution (default: constitution.yaml in the home)")
    .option("--constitution <file>", "its prose (default: constitution.md in the home)")
    .option(
      "--ttl <minutes>",
      "how long a session of the mode domain stays open that nobody uses (default: 30)",
    )
    .option("--preload-standing", "give every standing agent of the roster its session at the start")
    .option(
      "--heartbeat-interval <seconds>",
      "how often standing agents that have mail and nothing to do are woken (default: 300)",
    )
    .option("--no-heartbeat", "do not wake them")
    .option("--allow-host <name>", "name this machine is addressed by; may be repeated", repeated)
    .option(
      "--accept-loss",
      "go on with a home that is damaged or was rolled back; what is missing is recorded in the ledger",
    )
    .option("--no-open", "do not open the page in a browser")
    .option("--tls-cert <file>", "certificate in PEM; serves HTTP/2 and 1.1 over TLS")
    .option("--tls-key <file>", "its key in PEM")
    .addHelpText("after", HELP)
    .addHelpText(
      "after",
      exitCodesHelp({
        done: "stopped by Ctrl-C or SIGTERM",
        failed: "failed",
        usage: "wrong usage, or a host open to others without a token",
        taken: "the port is in use, or Reins is already running on this home",
      }),
    )
    .action(async (_, command: Command) => {
      const { up } = await import("./up.ts");
      await up(command.optsWithGlobals<UpFlags>());
    });
}
