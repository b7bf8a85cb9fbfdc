import type { ApiClient } from "../../client/api-client.ts";
import { CLIENT, CLIENT_CODES, withClient } from "../../client/connect.ts";
import { command } from "../../command.ts";
import { noticeOnStderr, Output } from "../../output.ts";
import { pageWidth, screenWidth } from "../../printable.ts";
import { withStopSignal } from "../../serving/stop.ts";
import { answerTo, approvalFeed, type Seen } from "./approval-source.ts";
import { ApprovalConsole } from "./console.ts";
import { approvalLine } from "./list.ts";

const LOST = "The connection was lost; retrying for a minute.";

/** Prints approvals as they come; on a terminal, prompts for each. */
export const watchCommand = command({
  summary: "show approvals as they come, and answer them",
  description: "Shows pending and new approvals, until Ctrl-C.",
  inputs: { ...CLIENT, json: ["--json", "print one JSON document per change"] },
  note: `On a terminal each approval is shown whole, and one key answers it:
  a  allow once     A  allow always     d  deny     s  later     q  quit
Elsewhere every change is one line, or with --json one document per line.
Needs a running Reins; waits a minute for one that is restarted.
REINS_URL and REINS_TOKEN set --url and --token.`,
  examples: [
    "reins approvals watch",
    `reins approvals watch --json | jq -r '.approval | .id + " " + .state'`,
  ],
  codes: { ...CLIENT_CODES, done: "stopped by Ctrl-C or q" },
  async run(flags) {
    const interactive = !flags.json && process.stdin.isTTY && process.stdout.isTTY;
    await withStopSignal((signal) =>
      withClient(flags, (client) =>
        interactive ? promptForEach(client, signal) : printChanges(client, signal, flags.json),
      ),
    );
  },
});

async function promptForEach(client: ApiClient, stopped: AbortSignal): Promise<void> {
  const end = new AbortController();
  const signal = AbortSignal.any([stopped, end.signal]);
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
  const options = { signal, onLost: () => screen.write(`${LOST}\n`) };
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
  const options = { signal, onLost: () => noticeOnStderr(json)(LOST) };
  await drain(approvalFeed(client, options), (seen) =>
    output.write(`${json ? JSON.stringify(seen) : approvalLine(seen.approval, new Date(), screenWidth())}\n`),
  );
}

async function drain(feed: AsyncIterable<Seen>, take: (seen: Seen) => void | Promise<void>): Promise<void> {
  for await (const seen of feed) await take(seen);
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
