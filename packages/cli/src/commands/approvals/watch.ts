import { setTimeout } from "node:timers/promises";
import type { Command } from "commander";
import type { ApiClient } from "../../client/api-client.ts";
import { CLIENT_CODES, type ClientFlags, clientFlags, withClient } from "../../client/connect.ts";
import type { Unreachable } from "../../client/transport.ts";
import { helpText } from "../../errors.ts";
import { type Notice, noticeOnStderr, Output } from "../../output.ts";
import { pageWidth, screenWidth } from "../../printable.ts";
import { watchForStop } from "../../serving/stop.ts";
import { answerTo } from "./answer.ts";
import { approvalFeed, type FeedOptions, type Seen } from "./approval-source.ts";
import { ApprovalConsole } from "./console.ts";
import { approvalLine } from "./list.ts";

const HELP = `
On a terminal each approval is shown whole, and one key answers it:
  a  allow once     A  allow always     d  deny     s  later     q  quit
Elsewhere every change is one line, or with --json one document per line.
Needs a running Reins; waits a minute for one that is restarted.
REINS_URL and REINS_TOKEN set --url and --token.

Examples:
  reins approvals watch
  reins approvals watch --json | jq -r '.approval | .id + " " + .state'`;

export function declareWatch(approvals: Command): void {
  clientFlags(
    approvals
      .command("watch")
      .summary("show approvals as they come, and answer them")
      .description("Shows pending and new approvals, until Ctrl-C."),
    "print one JSON document per change",
  )
    .addHelpText("after", helpText(HELP, { ...CLIENT_CODES, done: "stopped by Ctrl-C or q" }))
    .action((_, command: Command) => watch(command.optsWithGlobals<ClientFlags>()));
}

const RETRY_MS = 1_000;
const MOST_ATTEMPTS = 60;

/** Prints approvals as they come; on a terminal, prompts for each. */
async function watch(flags: ClientFlags): Promise<void> {
  const end = new AbortController();
  const stop = watchForStop();
  void stop.requested.then(() => end.abort());
  const interactive = !flags.json && process.stdin.isTTY && process.stdout.isTTY;
  try {
    await withClient(flags, (client) =>
      interactive ? promptForEach(client, end) : printChanges(client, end.signal, flags.json),
    );
  } finally {
    stop.dispose();
  }
}

async function promptForEach(client: ApiClient, end: AbortController): Promise<void> {
  const { promise: broken, reject } = Promise.withResolvers<never>();
  const screen = {
    write: (text: string) => void process.stdout.write(text),
    get width() {
      return pageWidth();
    },
  };
  const console = new ApprovalConsole({
    screen,
    answer: (id, answer) => answerTo(id, answer, client),
    now: () => new Date(),
    quit: () => end.abort(),
  });
  screen.write("Waiting for approvals; q ends.\n");
  const finish = readKeys(process.stdin, (key) => void console.press(key).catch(reject));
  const options = { signal: end.signal, lost: retrying(end.signal, (text) => screen.write(`${text}\n`)) };
  try {
    await Promise.race([
      broken,
      drain(approvalFeed(client, options), ({ approval }) => console.take(approval)),
    ]);
  } finally {
    finish();
    end.abort();
  }
}

async function printChanges(
  client: ApiClient,
  stopped: AbortSignal,
  json: boolean | undefined,
): Promise<void> {
  const output = new Output(process.stdout);
  const signal = AbortSignal.any([stopped, output.gone]);
  const options = { signal, lost: retrying(signal, noticeOnStderr(json)) };
  await drain(approvalFeed(client, options), (seen) =>
    output.write(`${json ? JSON.stringify(seen) : approvalLine(seen.approval, new Date(), screenWidth())}\n`),
  );
}

async function drain(feed: AsyncIterable<Seen>, take: (seen: Seen) => void | Promise<void>): Promise<void> {
  for await (const seen of feed) await take(seen);
}

/** Waits for a server that went away, for a limited time. */
function retrying(signal: AbortSignal, notice: Notice): FeedOptions["lost"] {
  return async (error: Unreachable, attempt) => {
    if (attempt >= MOST_ATTEMPTS) throw error;
    if (attempt === 0) notice("The connection was lost; retrying for a minute.");
    await setTimeout(RETRY_MS, undefined, { signal }).catch((failure: unknown) => {
      if (!signal.aborted) throw failure;
    });
  };
}

export interface KeyInput {
  setRawMode(raw: boolean): unknown;
  setEncoding(encoding: "utf8"): unknown;
  on(event: "data", take: (text: string) => void): unknown;
  off(event: "data", take: (text: string) => void): unknown;
  resume(): unknown;
  pause(): unknown;
}

/**
 * Reads a terminal key by key until the returned function is called. Ignores input of several characters at once:
 * pasted text and named keys.
 */
export function readKeys(input: KeyInput, press: (key: string) => void): () => void {
  const take = (text: string) => {
    if (text.length === 1) press(text);
  };
  input.setRawMode(true);
  input.setEncoding("utf8");
  input.on("data", take);
  input.resume();
  return () => {
    input.off("data", take);
    input.setRawMode(false);
    input.pause();
  };
}
