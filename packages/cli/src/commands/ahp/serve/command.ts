import type { Command } from "commander";
import { exitCodesHelp } from "../../../errors.ts";
import { repeated } from "../../../flags.ts";
import type { ServeFlags } from "./flags.ts";

const HELP = `
The handler module has a default export, or one named "handlers": an object with a function "event" and, as far as
it likes, "notification", "query" and one for each specialised event; or a function that returns such an object.

  import type { Handlers } from "@reins/ahp";
  export default {
    event: ({ payload }) => ({ decision: "block", reason: "not today" }),
  } satisfies Handlers;

TypeScript modules run as they are on Node 22.18 or newer. With --stdio nothing but the protocol goes to stdout:
logs, and whatever the module prints, go to stderr.

Without --handlers, --stdio puts the Reins that runs (reins up) behind stdin and stdout: its constitution decides, and
its record holds what was decided.

Examples:
  reins ahp serve --stdio
  reins ahp serve --stdio --handlers ./handlers.ts
  reins ahp serve --http --ws --port 8080 --handlers ./handlers.ts
  reins ahp serve --ws --host 0.0.0.0 --token @tokens --tls-cert cert.pem --tls-key key.pem --handlers ./handlers.ts
  reins ahp serve --unix ./ahp.sock --handlers ./handlers.ts --require-handshake`;

/** Declares `reins ahp serve`. */
export function declareServe(ahp: Command): void {
  ahp
    .command("serve")
    .summary("serve a harness of your own")
    .description(
      "Serves a harness whose decisions a handler module makes, until Ctrl-C or the end of stdin.\n" +
        "--http, --ws and --unix may be given together; --http and --ws then share a port.",
    )
    .option("--handlers <file>", "the module that decides; with --stdio, by default the Reins that runs")
    .option("--home <folder>", "the home of the Reins that decides, with --stdio and without --handlers")
    .option("--stdio", "serve the process that started this one")
    .option("--http", "serve HTTP")
    .option("--ws", "serve WebSocket")
    .option("--unix <path>", "serve a Unix socket")
    .option("--host <host>", "address for HTTP and WebSocket (default: 127.0.0.1)")
    .option("--port <port>", "port for HTTP and WebSocket, 0 for any free one (default: 18789)")
    .option("--path <path>", "path for HTTP and WebSocket (default: /ahp)")
    .option(
      "--token <secret>",
      "secret that HTTP and WebSocket clients must show; @file reads one per line; may be repeated",
      repeated,
    )
    .option("--allow-host <name>", "name this machine is addressed by; may be repeated", repeated)
    .option("--tls-cert <file>", "certificate in PEM; serves https and wss")
    .option("--tls-key <file>", "its private key in PEM")
    .option("--name <name>", "name told in the handshake")
    .option("--compat", "behave exactly as the upstream implementation")
    .option("--require-handshake", "answer only after a handshake")
    .option("--deadline-ms <ms>", "time a handler has before the event is decided against (default: 10000)")
    .option("--max-depth <depth>", "deepest event that is taken (default: 10)")
    .option("--batch-size <events>", "largest batch that is taken (default: 100)")
    .addHelpText("after", HELP)
    .addHelpText(
      "after",
      exitCodesHelp({
        done: "stopped, or stdin ended",
        failed: "failed",
        usage: "wrong usage, or the handler module cannot be used",
        taken: "the port or the socket is in use",
      }),
    )
    .action(async (_, command: Command) => {
      const { serve } = await import("./serve.ts");
      await serve(command.optsWithGlobals<ServeFlags>());
    });
}
