import { expect, test } from "vitest";
import { AllowedMethods } from "./application.ts";

const allowed = new AllowedMethods();
allowed.add("/v1/things", ["GET", "HEAD"]);
allowed.add("/v1/things", ["POST"]);
allowed.add("/v1/things/:id", ["DELETE"]);
allowed.add("/v1/things/stream", ["GET"]);

test.each([
  ["/v1/things", ["GET", "HEAD", "POST"]],
  ["/v1/things/7", ["DELETE"]],
  ["/v1/things/stream", ["DELETE", "GET"]],
  ["/v1/things/", []],
  ["/v1/things/7/parts", []],
  ["/v1", []],
  ["", []],
])("%s takes %j", (path, methods) => {
  expect(allowed.of(path)).toEqual(methods);
});
