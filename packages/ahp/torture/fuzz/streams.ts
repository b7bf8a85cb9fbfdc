import { isUtf8 } from "node:buffer";
import { within } from "../bounds.ts";
import type { RawLines } from "../raw/lines.ts";
import type { RawStream } from "../raw/stream.ts";
import type { RawWebSocket } from "../raw/websocket.ts";
import { imbalance } from "./balance.ts";
import type { FuzzContext } from "./context.ts";
import type { FuzzMessage } from "./message.ts";
import type { Expected } from "./reference.ts";

const FRAME_LIMIT = 2 * 1024 * 1024;

/** Sends messages as lines, cut into pieces anywhere, and checks every reply. */
export async function fuzzLines(
  context: FuzzContext,
  stream: RawLines,
  messages: readonly FuzzMessage[],
): Promise<void> {
  const expected: Expected[] = [];
  for (const message of messages) expected.push(...(await context.reference.lines(message)));
  const bytes = Buffer.concat(messages.flatMap((message) => [message.bytes, Buffer.from("\n")]));
  await exchange(context, stream, expected, () => {
    for (const piece of pieces(context, bytes)) stream.send(piece);
  });
}

/** Sends messages as text frames, some in fragments, with pings and binary frames between, and checks every reply. */
export async function fuzzFrames(
  context: FuzzContext,
  stream: RawWebSocket,
  messages: readonly FuzzMessage[],
): Promise<void> {
  const { random } = context;
  const { webSocket } = stream;
  const texts = messages.filter(({ bytes }) => isUtf8(bytes) && bytes.length <= FRAME_LIMIT);
  const expected: Expected[] = [];
  for (const message of texts) expected.push(await context.reference.frame(message));
  await exchange(context, stream, expected, () => {
    for (const { bytes } of texts) {
      if (random.chance(0.02)) webSocket.ping(random.bytes(random.int(126)));
      if (random.chance(0.02)) webSocket.send(random.bytes(random.int(200)), { binary: true });
      const fragments = random.chance(0.1) ? pieces(context, bytes) : [bytes];
      for (const [index, fragment] of fragments.entries())
        webSocket.send(fragment, { binary: false, fin: index === fragments.length - 1 });
    }
  });
}

async function exchange(
  { offence, ...context }: Pick<FuzzContext, "offence">,
  { inbox, closed }: RawStream,
  expected: readonly Expected[],
  send: () => void,
): Promise<void> {
  const due = expected.filter(({ reply }) => reply !== undefined).length;
  send();
  const lost = closed.then(() => {
    throw new Error("the connection was closed");
  });
  let failure: unknown;
  try {
    await within("replies", Promise.race([inbox.holding(due), lost]));
  } catch (error) {
    failure = error;
  }
  lost.catch(() => {});
  const found = imbalance(expected, inbox.take());
  if (!found && failure === undefined) return;
  const { unanswered = [], unasked = [] } = found ?? {};
  throw offence.call(
    context,
    `${unanswered.length} messages not answered as due, ${unasked.length} replies not asked for: ${unasked.slice(0, 5).join(" ")}`,
    unanswered.map(({ message }) => message),
    failure,
  );
}

function pieces({ random }: Pick<FuzzContext, "random">, bytes: Buffer): Buffer[] {
  const cuts = Array.from({ length: random.int(12) }, () => random.int(bytes.length + 1)).sort(
    (left, right) => left - right,
  );
  return [...cuts, bytes.length].map((end, index) => bytes.subarray(cuts[index - 1] ?? 0, end));
}
