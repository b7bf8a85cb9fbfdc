import { systemClock } from "@reins/kit";
import type { Bench, BenchRow } from "../../../scripts/bench/bench.ts";
import { Redactor } from "../src/redaction/redactor.ts";
import { UpdateRedactor } from "../src/redaction/update-redactor.ts";

const PROSE =
  "The function reads the configuration file, checks every entry against the schema and returns a list of problems. " +
  "It was 120 lines long; now it is `parse(text)`, which throws when the token stream ends early. " +
  "See https://example.com/docs/parse#errors for what each error means, and run `npm test` before you commit.\n" +
  "```ts\nexport function login(user: string, password: string): Session {\n  return sessions.open(user);\n}\n```\n";
const SECRETS = `GITHUB_TOKEN=ghp_${"a1B2c3".repeat(6)} curl -H "Authorization: Bearer ${"Zx9".repeat(12)}" https://ann:pw-31415@example.com\n`;
const PIECE = 40;
const VALUES = Array.from({ length: 8 }, (_, index) => `configured-${index}-${"s3cr3t".repeat(3)}`);

const redactor = Redactor.create({ values: VALUES });

function pieces(text: string, bytes: number): readonly string[] {
  const whole = text.repeat(Math.ceil(bytes / text.length));
  return Array.from({ length: Math.floor(bytes / PIECE) }, (_, index) =>
    whole.slice(index * PIECE, (index + 1) * PIECE),
  );
}

/** How many runs go through a second, of the best of some rounds: others use this machine too. */
function perSecond(rounds: number, runs: number, run: () => void): number {
  const rates = Array.from({ length: rounds }, () => {
    const start = performance.now();
    run();
    return runs / ((performance.now() - start) / 1_000);
  });
  return Math.max(...rates);
}

function throughput(what: string, text: string, bytes: number, wanted?: number): BenchRow {
  const chunks = pieces(text, bytes);
  const rate = perSecond(8, (chunks.length * PIECE) / 1e6, () => {
    const stream = redactor.stream();
    for (const chunk of chunks) stream.push(chunk);
    stream.end();
  });
  const row = { what, value: rate, unit: "MB/s" };
  return wanted === undefined
    ? row
    : { ...row, baseline: { what: "wanted", value: wanted }, bar: { ratio: 1, sense: "at least" } };
}

function updates(bytes: number): BenchRow {
  const lines = pieces(PROSE, bytes).map((text) =>
    JSON.stringify({
      sessionUpdate: "agent_message_chunk",
      messageId: "m1",
      content: { type: "text", text },
    }),
  );
  const parsed = lines.map((line): Record<string, unknown> => JSON.parse(line));
  const ours = perSecond(8, lines.length, () => {
    const session = new UpdateRedactor(redactor, { clock: systemClock, onLate: () => {} });
    for (const update of parsed) session.push(update);
    session.end();
  });
  const json = perSecond(8, lines.length, () => {
    for (const line of lines) JSON.stringify(JSON.parse(line));
  });
  return {
    what: "updates redacted, one chunk each",
    value: ours,
    unit: "updates/s",
    baseline: { what: "parsing and printing the same as JSON", value: json },
  };
}

function values(count: number): BenchRow {
  const call = {
    sessionUpdate: "tool_call_update",
    toolCallId: "call_1",
    status: "completed",
    title: "Read src/login.ts",
    content: [{ type: "content", content: { type: "text", text: PROSE } }],
    rawInput: { path: "/w/src/login.ts", limit: 200 },
  };
  const line = JSON.stringify(call);
  const ours = perSecond(8, count, () => {
    for (let n = 0; n < count; n += 1) redactor.value(call);
  });
  const json = perSecond(8, count, () => {
    for (let n = 0; n < count; n += 1) JSON.stringify(JSON.parse(line));
  });
  return {
    what: "tool calls redacted",
    value: ours,
    unit: "updates/s",
    baseline: { what: "parsing and printing the same as JSON", value: json },
  };
}

function made(): BenchRow {
  const rate = perSecond(5, 1, () => void Redactor.create({ values: VALUES }));
  return { what: "a redactor made, with 8 configured values", value: 1_000 / rate, unit: "ms" };
}

export default {
  name: "redaction",
  title: `Taking secrets out of text that arrives in pieces of ${PIECE} bytes`,
  async run({ scale }) {
    const bytes = scale === "quick" ? 1_000_000 : 4_000_000;
    return [
      throughput("ordinary text", PROSE, bytes, 50),
      throughput("text full of secrets", SECRETS, bytes / 4),
      updates(bytes),
      values(bytes / 200),
      made(),
    ];
  },
} satisfies Bench;
