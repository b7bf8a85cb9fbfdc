import { expect, test } from "vitest";
import { prefixFault } from "./command-prefix.ts";

test.each([["npm", "test"], ["cargo", "test", "--lib"], ["make"], ["pytest"], ["node", "scripts/check.js"]])(
  "%s %s can begin what is allowed always",
  (...prefix) => {
    expect(prefixFault(prefix)).toBeUndefined();
  },
);

test.each([
  [],
  [""],
  ["npm"],
  ["git"],
  ["bash"],
  ["bash", "x.sh"],
  ["/bin/sh", "x"],
  ["env", "npm"],
  ["sudo", "npm", "test"],
  ["xargs", "npm"],
  ["curl", "example.org"],
  ["node", "-e"],
  ["python3", "-c"],
  ["python3", "run"],
  ["npm", "--prefix"],
])("%j %j says too little", (...prefix) => {
  expect(prefixFault(prefix)).toBeDefined();
});
