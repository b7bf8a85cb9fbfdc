import { describe, expect, test } from "vitest";
import { readVectors, type ServerVector, vectorHandlers } from "../../test/vectors.ts";
import { AhpServer } from "./server.ts";

const { servers } = readVectors();

/** JavaScript writes `1.0` as `1`. */
const SPELLED_DIFFERENTLY = [66];

/** Where the default behaviour is deliberately not upstream's, and why. */
const DIFFERENT_BY_DEFAULT = {
  "a handshake gives a session token": [2, 3, 10],
  "jsonrpc is checked": [11],
  "number ids are answered": [13, 87],
  "malformed messages are answered": [12, 16, 18, 88, 89, 90, 91],
  "unreadable messages are answered": [17],
};

async function play(vector: ServerVector, compat: boolean, transport: "stdio" | "http") {
  const calls: string[] = [];
  const config = vector.config && { config: vector.config };
  const server = new AhpServer(vectorHandlers(calls), { compat, ...config });
  const outcome = await server.handle(vector.in, { transport });
  return { ...outcome, calls };
}

describe("as upstream", () => {
  test.each(servers)("vector $line on a stream: $in", async (vector) => {
    const { reply, calls } = await play(vector, true, "stdio");
    expect(asJson(reply)).toEqual(asJson(vector.out ?? undefined));
    expect(reply === (vector.out ?? undefined)).toBe(!SPELLED_DIFFERENTLY.includes(vector.line));
    expect(calls).toEqual(vector.calls ?? []);
  });

  test.each(servers)("vector $line over HTTP: $in", async (vector) => {
    const { reply, unreadable, calls } = await play(vector, true, "http");
    const status = unreadable ? 400 : reply === undefined ? 204 : 200;
    const expected = vector.http ?? { status: 200, body: vector.out ?? undefined };
    expect(status).toBe(expected.status);
    if (status === 200) expect(asJson(reply)).toEqual(asJson(expected.body));
    expect(calls).toEqual(vector.calls ?? []);
  });
});

describe("by default", () => {
  const different = new Set(Object.values(DIFFERENT_BY_DEFAULT).flat());

  test.each(servers)("vector $line: $in", async (vector) => {
    const { reply, calls } = await play(vector, false, "stdio");
    const same = JSON.stringify(withoutData(reply)) === JSON.stringify(withoutData(vector.out ?? undefined));
    expect(same).toBe(!different.has(vector.line));
    if (same) expect(calls).toEqual(vector.calls ?? []);
  });

  test.each(servers)("vector $line says why, if it is an error", async (vector) => {
    const { reply } = await play(vector, false, "http");
    const answer = asJson(reply);
    if (answer?.error) expect(answer.error.data.reason).toMatch(/^[a-z_]+$/);
  });
});

// biome-ignore lint/suspicious/noExplicitAny: replies are looked into freely here
function asJson(text: string | undefined): any {
  return text === undefined ? undefined : JSON.parse(text);
}

function withoutData(text: string | undefined): unknown {
  const answer = asJson(text);
  if (answer?.error) delete answer.error.data;
  return answer;
}
