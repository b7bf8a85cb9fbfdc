import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { stdioChannel } from "./stdio-channel.ts";

test("an input that breaks is a client that has gone", async () => {
  const input = new PassThrough();
  const channel = stdioChannel(input, new PassThrough());
  channel.onMessage(() => undefined);
  input.destroy(new Error("input/output error"));
  expect(await channel.closed).toMatchObject({ message: "the client has gone" });
});
