import { expect, test } from "vitest";
import { readableWebhooks } from "./reins.ts";

test.each([
  ["http://hooks.example/x", true, true],
  ["http://10.0.0.5/x", true, true],
  ["http://localhost.example/x", true, true],
  ["http://hooks.example/x", false, false],
  ["https://hooks.example/x", true, false],
  ["http://localhost:80/x", true, false],
  ["http://127.0.0.9/x", true, false],
  ["http://[::1]:9000/x", true, false],
])("a webhook at %s with details: %s can be read on the way: %s", (url, details, isReadable) => {
  const webhooks = [{ name: "one", url, secret: "a secret that is long enough", details }];
  expect(readableWebhooks(webhooks)).toEqual(isReadable ? webhooks : []);
});
