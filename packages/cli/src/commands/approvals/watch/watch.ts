import { setTimeout } from "node:timers/promises";
import type { Operator } from "../../../client/api-client.ts";
import { type OperatorFlags, withOperator } from "../../../client/connect.ts";
import type { Unreachable } from "../../../client/transport.ts";
import { type Notice, noticeOnStderr, Output } from "../../../output.ts";
import { pageWidth, screenWidth } from "../../../printable.ts";
import { watchForStop } from "../../../serving/stop.ts";
import { answerTo } from "../answer/answer.ts";
import { lineOf } from "../list/line.ts";
import { approvalFeed, type FeedOptions, type Seen } from "./approval-feed.ts";
import { ApprovalConsole } from "./console.ts";
import { readKeys } from "./keys.ts";

const RETRY_MS = 1_000;
const MOST_ATTEMPTS = 60;

/** Shows approvals as they come; on a terminal, asks about each. */
export async function watch(flags: OperatorFlags): Promise<void> {
  const end = new AbortController();
  const stop = watchForStop();
  void stop.requested.then(() => end.abort());
  const interactive = !flags.json && process.stdin.isTTY && process.stdout.isTTY;
  try {
    await withOperator(flags, (operator) =>
      interactive ? ask(operator, end) : tell(operator, end.signal, flags.json),
    );
  } finally {
    stop.dispose();
  }
}

/** Puts each to the person at the terminal. */
async function ask(operator: Operator, end: AbortController): Promise<void> {
  const { promise: broken, reject } = Promise.withResolvers<never>();
  const screen = {
    write: (text: string) => void process.stdout.write(text),
    get width() {
      return pageWidth();
    },
  };
  const console = new ApprovalConsole({
    screen,
    answer: (id, answer) => answerTo(id, answer, operator),
    now: () => new Date(),
    quit: () => end.abort(),
  });
  screen.write("Waiting for what agents ask leave for; q ends.\n");
  const finish = readKeys(process.stdin, (key) => void console.press(key).catch(reject));
  const options = { signal: end.signal, lost: trying(end.signal, (text) => screen.write(`${text}\n`)) };
  try {
    await Promise.race([
      broken,
      drain(approvalFeed(operator, options), ({ approval }) => console.take(approval)),
    ]);
  } finally {
    finish();
    end.abort();
  }
}

/** One line, or one JSON document, for each change. */
async function tell(operator: Operator, stopped: AbortSignal, json: boolean | undefined): Promise<void> {
  const output = new Output(process.stdout);
  const signal = AbortSignal.any([stopped, output.gone]);
  const options = { signal, lost: trying(signal, noticeOnStderr(json)) };
  await drain(approvalFeed(operator, options), (seen) =>
    output.write(`${json ? JSON.stringify(seen) : lineOf(seen.approval, new Date(), screenWidth())}\n`),
  );
}

async function drain(feed: AsyncIterable<Seen>, take: (seen: Seen) => void | Promise<void>): Promise<void> {
  for await (const seen of feed) await take(seen);
}

/** Waits for a Reins that went away, for a while. */
function trying(signal: AbortSignal, notice: Notice): FeedOptions["lost"] {
  return async (error: Unreachable, attempt) => {
    if (attempt >= MOST_ATTEMPTS) throw error;
    if (attempt === 0) notice("The connection was lost; trying again for a minute.");
    await setTimeout(RETRY_MS, undefined, { signal }).catch((failure: unknown) => {
      if (!signal.aborted) throw failure;
    });
  };
}
