import { describe, expect, test } from "vitest";
import fuzz from "../torture/fuzz.torture.ts";
import hostile from "../torture/hostile.torture.ts";
import reconnect from "../torture/reconnect.torture.ts";
import soak from "../torture/soak.torture.ts";

const SEED = 20_260_204;
/** For a machine that is busy with other things. */
const TIMEOUT_MS = 180_000;

/** A torture run says how far it got; what breaks it is thrown, with the seed. */
async function suffer({ run }: typeof fuzz, signal: AbortSignal): Promise<string[]> {
  const said: string[] = [];
  await run({ seed: SEED, scale: "small", signal, log: (message) => said.push(message) });
  return said;
}

describe("the small part of", { timeout: TIMEOUT_MS }, () => {
  test("fuzzing: every message over every transport is answered as it has to be", async ({ signal }) => {
    expect(await suffer(fuzz, signal)).toEqual([
      expect.stringMatching(/^6\d{3} messages; /),
      expect.stringMatching(/^right answers to well-behaved clients: [1-9]\d*, [1-9]\d*, [1-9]\d*$/),
    ]);
  });

  test("hostility: each kind is survived, and nobody else notices", async ({ signal }) => {
    const said = await suffer(hostile, signal);
    expect(said.filter((line) => /: at most \d+ MB more lived in the server$/.test(line)).length).toBe(
      said.length - 1,
    );
    expect(said.at(-1)).toMatch(/^right answers to well-behaved clients: [1-9]\d*, [1-9]\d*, [1-9]\d*$/);
  });

  test("soaking: connections and waiting events are held, answered and let go", async ({ signal }) => {
    expect(await suffer(soak, signal)).toEqual([
      expect.stringMatching(/^50 clients, /),
      expect.stringMatching(/^20 events waited for 1 s beside \d+ quick ones$/),
      expect.stringMatching(/^afterwards (\d+) descriptors \(\1 before\), /),
    ]);
  });

  test("reconnecting: every call settles, and only a harness allows", async ({ signal }) => {
    const said = await suffer(reconnect, signal);
    const settled = /^(unix|websocket|stdio): 3 kills; \d+ calls, [1-9]\d* allowed by a harness, \d+ blocked/;
    expect(said).toEqual(Array.from({ length: 3 }, () => expect.stringMatching(settled)));
  });
});
