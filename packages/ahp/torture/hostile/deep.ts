import { STREAMS } from "./connect.ts";
import type { Hostility } from "./context.ts";
import { expectReplies } from "./expect.ts";
import { allowed, ask } from "./message.ts";

const TOO_DEEP =
  '{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error","data":{"detail":"nested deeper than 127 arrays and objects","fault":"too_deep","reason":"parse_error"}}}';
/** The request, its params and the payload stand around what is nested here. */
const AROUND = 3;

/** Nesting up to the limit, beyond it, and far beyond. */
export const DEEP: readonly Hostility[] = (["unix", "websocket"] as const).map((transport) => ({
  name: `deep nesting over ${transport}`,
  async run(context) {
    const stream = await STREAMS[transport](context);
    for (const levels of [127 - AROUND, 128 - AROUND, 1_000, 900_000]) {
      stream.send(ask("deep", { nested: "@" }).replace('"@"', "[".repeat(levels) + "]".repeat(levels)));
    }
    await expectReplies(stream, [allowed("deep"), TOO_DEEP, TOO_DEEP, TOO_DEEP]);
    stream.destroy();
  },
}));
