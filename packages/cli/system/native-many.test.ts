import { expect, onTestFinished, test } from "vitest";
import { Crowd } from "../bench/native/crowd.ts";
import { governedClient } from "../bench/native/native-client.ts";

test("two hundred governed sessions at once complete every turn, each with its words in order", async () => {
  const client = await governedClient();
  onTestFinished(() => client.close());
  // A turn that ends otherwise, or with its words in another order, throws.
  const { times } = await new Crowd(client).turns(200, 1);
  expect(times).toHaveLength(200);
});
