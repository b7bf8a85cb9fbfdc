import { resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { CLIENT, CLIENT_CODES, resolveServer } from "../../client/connect.ts";
import { command } from "../../command.ts";
import { EXIT, type ExitCode } from "../../errors.ts";
import { requireFolder } from "../../files.ts";
import { logLevel, openLog } from "../../log.ts";
import { pageWidth } from "../../output.ts";
import { watchForStop } from "../../serving/stop.ts";
import type { Chat } from "../../terminal/chat.ts";

const { json: _, ...SERVER } = CLIENT;

/** Opens a conversation with an agent in this terminal. */
export const chatCommand = command({
  description:
    "Opens a conversation with an agent in this terminal: prompts, tool calls with their verdicts, approvals\n" +
    "answered in place. The same session is on the page at the same time. reins without a command does this, too.",
  inputs: {
    agent: ["--agent <id>", "the agent (default: native); see reins agents list"],
    cwd: ["--cwd <folder>", "where it works (default: here)"],
    mode: ["--mode <mode>", "the mode of the session"],
    model: ["--model <model>", "the model of the session"],
    continue: ["--continue", "continue the last session in the folder"],
    resume: ["--resume <id>", "continue a session, by its id or the beginning of it"],
    plain: ["--plain", "lines that are written once, as without a terminal"],
    ...SERVER,
  },
  note: `/help in the conversation shows its commands and keys. Where input or output is no
terminal, or TERM is dumb, each line of the input is a prompt, and what happens is
printed in lines; approvals are then answered with /allow and /deny by a person at a
terminal, else with reins approvals.
Uses the Reins that runs on the home; if none runs, the agents run in this process.
REINS_URL and REINS_TOKEN set --url and --token.`,
  examples: [
    "reins chat --agent claude --mode plan",
    "reins chat --continue",
    'echo "what is in this folder?" | reins chat',
  ],
  codes: { ...CLIENT_CODES, done: "left", failed: "failed, or the last turn did" },
  async run(
    { cwd, plain, continue: isContinued, resume, agent, mode, model, ...flags },
    { verbose, notice },
  ) {
    const isRemote = resolveServer(flags, process.env).url !== undefined;
    const folder = cwd === undefined && isRemote ? undefined : resolve(cwd ?? ".");
    if (folder !== undefined && !isRemote) await requireFolder(folder, "--cwd");
    const from = resume ?? (isContinued ? "latest" : undefined);
    const beginning = { agent, mode, model, cwd: folder, resume: from };
    const isScreen = !plain && hasScreen();
    // Lines of a log would be written into the drawn screen.
    const level = isScreen ? "silent" : logLevel(verbose, { REINS_LOG: "warn", ...process.env });
    const log = await openLog(process.stderr, level);
    const { openClient } = await import("../../terminal/open-client.ts");
    const { Chat } = await import("../../terminal/chat.ts");
    const chat = new Chat({
      now: () => new Date(),
      wait: (milliseconds, signal) => sleep(milliseconds, undefined, { signal }).catch(() => undefined),
    });
    const opened = await openClient(flags, chat.handlers, { log, notice });
    const begin = async () => {
      await chat.begin(opened.reins, beginning);
      if (opened.isOwn)
        chat.note(
          "No server runs here, so the agents end with this terminal. With reins up, the page has the session, too.",
        );
    };
    try {
      const exitCode = await (isScreen ? onScreen(chat, begin, opened.isLocal) : inLines(chat, begin));
      const { session } = chat.state;
      if (session && isScreen)
        process.stdout.write(`To continue: reins --resume ${session.id.slice(0, 8)}\n`);
      return { exitCode };
    } finally {
      chat.leave();
      await opened.close();
    }
  },
});

/** Whether a screen can be drawn. */
function hasScreen(): boolean {
  return process.stdin.isTTY && process.stdout.isTTY && process.env.TERM !== "dumb";
}

type Begin = () => Promise<void>;

/** Draws on the terminal until the person leaves. */
async function onScreen(chat: Chat, begin: Begin, isLocal: boolean): Promise<ExitCode> {
  const { TerminalView } = await import("../../terminal/view.ts");
  const { COLOUR_STYLE, PLAIN_STYLE } = await import("../../terminal/text.ts");
  const stop = watchForStop();
  void stop.requested.then(() => chat.leave());
  const view = new TerminalView(chat, {
    style: process.stdout.hasColors() ? COLOUR_STYLE : PLAIN_STYLE,
    now: () => new Date(),
    folder: () => (isLocal ? chat.state.session?.cwd : undefined),
  });
  chat.display = view;
  view.open();
  try {
    await Promise.race([begin(), chat.left]);
    await chat.left;
    return EXIT.done;
  } finally {
    view.close();
    stop.dispose();
  }
}

/** Prints lines until the input ends or the person leaves. */
async function inLines(chat: Chat, begin: Begin): Promise<ExitCode> {
  const { PlainView } = await import("../../terminal/plain.ts");
  const view = new PlainView(chat, {
    input: process.stdin,
    write: (text) => void process.stdout.write(text),
    width: pageWidth(),
    now: () => new Date(),
    isPerson: process.stdin.isTTY,
  });
  chat.display = view;
  const interrupt = () => chat.interrupt();
  const leave = () => chat.leave();
  process.on("SIGINT", interrupt).once("SIGTERM", leave).once("SIGHUP", leave);
  try {
    await begin();
    await view.run();
    return chat.isGood ? EXIT.done : EXIT.failed;
  } finally {
    process.off("SIGINT", interrupt).off("SIGTERM", leave).off("SIGHUP", leave);
  }
}
